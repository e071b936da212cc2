// Families with states, and Gemma 4, whose layers differ in more than windows.
#include "model/families/hooks.h"
#include "model/families/routed_experts.h"
#include "model/families/rows.h"

namespace pando::model {
namespace {

// Gated delta-nets, and every few layers attention whose output is gated.
std::vector<Family> delta_nets() {
  const LayerNames layer = {.gguf_feed_forward_norm = "post_attention_norm",
                            .shared = "mlp.shared_expert",
                            .norms = Stored::kOneLess};
  const ModelSpec fixed = {.qk_norm = QkNorm::kPerHead, .attention_gate = true};
  // As GGUF files hold them.
  const ModelSpec qwen3_5 = {.qk_norm = QkNorm::kPerHead,
                             .attention_gate = true,
                             .recurrent = {.heads_interleaved = true}};
  ModelSpec qwen3_5_moe = qwen3_5;
  qwen3_5_moe.experts.renormalised = true;
  return {
      // Qwen3.5 and Qwen3.6.
      {.name = "qwen3_5_text",
       .architecture = "Qwen3_5ForCausalLM",
       .gguf_architecture = "qwen35",
       .wrapper = "qwen3_5",
       .offers = {"attn_output_gate", "use_mrope"},
       .fixed = qwen3_5,
       .decoder = {.head_dim = 256,
                   .attention_bias = true,
                   .rope = {.partial = true, .sections = true}},
       .windows = {Windows::kRecurrent},
       .layer = layer,
       .read = read_qwen3_5,
       .write = write_delta_net,
       .translate = translate_delta_net,
       .add_mixer = add_qwen3_5_mixer,
       .passed_over = delta_net_passed_over},
      {.name = "qwen3_5_moe_text",
       .architecture = "Qwen3_5MoeForCausalLM",
       .gguf_architecture = "qwen35moe",
       .wrapper = "qwen3_5_moe",
       .offers = {"attn_output_gate", "use_mrope"},
       .fixed = qwen3_5_moe,
       .decoder = {.head_dim = 256,
                   .d_ff_name = "moe_intermediate_size",
                   .attention_bias = true,
                   .rope = {.partial = true, .sections = true}},
       .windows = {Windows::kRecurrent},
       .experts = {{.n_experts = 256,
                    .n_used = 8,
                    .shared_name = "shared_expert_intermediate_size",
                    .shared_absent = 512,
                    .shared_gate = true}},
       .layer = layer,
       .read = read_qwen3_5,
       .write = write_delta_net,
       .translate = translate_delta_net,
       .add_mixer = add_qwen3_5_mixer,
       .passed_over = delta_net_passed_over},
      {.name = "qwen3_next",
       .architecture = "Qwen3NextForCausalLM",
       .gguf_architecture = "qwen3next",
       .fixed = fixed,
       .decoder = {.head_dim = 256, .attention_bias = true, .rope = {.partial = true}},
       .windows = {Windows::kRecurrent},
       .experts = {{.n_experts = 512,
                    .n_used = 10,
                    .dense_layers = true,
                    .shared_name = "shared_expert_intermediate_size",
                    .shared_absent = 512,
                    .shared_gate = true,
                    .norm_topk_prob = {{.absent = true, .gguf = true}}}},
       .layer = layer,
       .read = read_delta_net,
       .write = write_delta_net,
       .translate = translate_delta_net,
       .add_mixer = add_qwen3_next_mixer,
       .passed_over = delta_net_passed_over},
      // OLMo 2's attention, without or with rotation; layers with delta-nets have Llama's norms.
      {.name = "olmo_hybrid",
       .architecture = "OlmoHybridForCausalLM",
       .fixed = {.qk_norm = QkNorm::kFullWidth, .recurrent = {.norm_eps = 1e-5f}},
       .decoder = {.kv_heads_as_heads = true, .attention_bias = true},
       .windows = {Windows::kRecurrent},
       .read = read_olmo_hybrid,
       .write = write_olmo_hybrid,
       .layer_weights = olmo_hybrid_layer},
  };
}

// Short convolutions, and attention in some layers.
std::vector<Family> lfm2s() {
  const DecoderFields decoder = {
      .rms_eps = 1e-5, .rms_eps_name = "norm_eps", .tied = true, .rope = {.theta = 1e6}};
  const LayerNames layer = {.attention_norm = "operator_norm",
                            .q_norm = "self_attn.q_layernorm",
                            .k_norm = "self_attn.k_layernorm",
                            .output = "self_attn.out_proj",
                            .feed_forward_norm = "ffn_norm",
                            .router = "feed_forward.gate",
                            .choice_bias = "feed_forward.expert_bias",
                            .experts = {.gate_up = "feed_forward.experts.gate_up_proj",
                                        .down = "feed_forward.experts.down_proj",
                                        .module = "feed_forward.experts",
                                        .gate = "w1",
                                        .up = "w3",
                                        .down_of_one = "w2"}};
  constexpr const char *kNorm = "model.embedding_norm",
                       *kGgufNorm = "token_embd_norm";  // a wrong name that all files have
  return {
      {.name = "lfm2",
       .architecture = "Lfm2ForCausalLM",
       .gguf_architecture = "lfm2",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = decoder,
       .windows = {Windows::kRecurrent},
       .only = {{"conv_bias", false}},
       .layer = layer,
       .last_norm = kNorm,
       .gguf_last_norm = kGgufNorm,
       .read = read_lfm2,
       .write = write_lfm2,
       .translate = translate_lfm2,
       .add_mixer = add_short_conv,
       .add_feed_forward = add_lfm2_feed_forward},
      // Mixtures of experts behind the first layers; sigmoids choose the experts.
      {.name = "lfm2_moe",
       .architecture = "Lfm2MoeForCausalLM",
       .gguf_architecture = "lfm2moe",
       .fixed = {.qk_norm = QkNorm::kPerHead, .experts = {.scores = RouterScores::kSigmoid}},
       .decoder = decoder,
       .windows = {Windows::kRecurrent},
       .experts = {{.n_experts = 32, .n_used = 4}},
       .only = {{"conv_bias", false}},
       .layer = layer,
       .last_norm = kNorm,
       .gguf_last_norm = kGgufNorm,
       .read = read_lfm2_moe,
       .write = write_lfm2_moe,
       .translate = translate_lfm2_moe,
       .add_mixer = add_short_conv,
       .add_feed_forward = add_lfm2_feed_forward},
  };
}

std::vector<Family> others() {
  return {
      // Granite 4: Mamba2, and attention in some layers; a dense feed-forward, beside which there
      // may be a mixture of experts.
      {.name = "granitemoehybrid",
       .architecture = "GraniteMoeHybridForCausalLM",
       .gguf_architecture = "granitehybrid",
       .absent = R"({"mamba_d_conv": 4, "mamba_n_groups": 1, "mamba_n_heads": 128,
                     "mamba_d_state": 256})",
       .fixed = {.experts = {.scores = RouterScores::kSoftmaxOfChosen}},
       .decoder = {.kv_heads_as_heads = true,
                   .d_ff_name = kGraniteSharedWidth,
                   .attention_bias = true},
       .windows = {Windows::kUnread},
       .experts = local_experts(8, 2),
       .numbers = multipliers(),
       .layer = kGraniteLayer,
       .read = read_granite_hybrid,
       .write = write_granite_hybrid,
       .translate = translate_granite_hybrid,
       .add_mixer = add_granite_mamba,
       .add_feed_forward = add_granite_feed_forward},
      // Each layer is one mixer (Mamba2, or attention without rotation) or one feed-forward (dense,
      // or a mixture of experts). Feed-forwards have no gate.
      {.name = "nemotron_h",
       .architecture = "NemotronHForCausalLM",
       .gguf_architecture = "nemotron_h",
       .other_gguf_architecture = "nemotron_h_moe",
       .offers = {"n_routed_experts", "expert_count", "expert_weights_scale"},
       .absent = R"({"n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 7688,
                     "moe_shared_expert_intermediate_size": 7688, "n_group": 1, "topk_group": 1,
                     "routed_scaling_factor": 1.0, "conv_kernel": 4, "n_groups": 8,
                     "ssm_state_size": 128, "mamba_num_heads": 128, "mamba_head_dim": 64})",
       .fixed = {.activation = Activation::kSquaredRelu},
       .decoder = {.rms_eps = 1e-5, .rms_eps_name = "layer_norm_epsilon"},
       .windows = {Windows::kUnread},
       .layer = {.router = "mixer.gate", .choice_bias = "mixer.gate.e_score_correction_bias"},
       .embedding = "model.embeddings.weight",
       .last_norm = "model.norm_f",
       .read = read_nemotron_h,
       .write = write_nemotron_h,
       .translate = translate_nemotron_h,
       .layer_weights = nemotron_h_layer,
       .passed_over = nemotron_h_multi_token},
      // Text: layers that see all have heads of their own; the last layers read the keys and values
      // of earlier ones; values have a norm too; layers have inputs of each token, or a mixture of
      // experts beside their feed-forward. Published files leave out what the library takes anyway.
      {.name = "gemma4_text",
       .architecture = "Gemma4ForCausalLM",
       .gguf_architecture = "gemma4",
       .wrapper = "gemma4",
       .offers = {"final_logit_softcapping", kSlidingBase, "rope.dimension_count_swa",
                  "num_experts", "num_local_experts", "expert_count"},
       .absent = R"({"vocab_size": 262144, "hidden_size": 2304, "intermediate_size": 9216,
                     "num_hidden_layers": 30, "num_attention_heads": 8, "num_key_value_heads": 4,
                     "max_position_embeddings": 131072,
                     "rope_parameters": {
                       "full_attention": {"rope_type": "proportional",
                                          "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
                       "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}})",
       .fixed = {.activation = Activation::kGeluTanh,
                 .qk_norm = QkNorm::kPerHead,
                 .value_norm = true,
                 .attention_scale = 1.0f,
                 .experts = {.renormalised = true}},
       .decoder = {.head_dim = 256,
                   .activation = "gelu_pytorch_tanh",
                   .activation_name = "hidden_activation",
                   .tied = true,
                   .attention_bias = true,
                   .rope = {.partial = true, .theta = 1e6, .layer_type = kFullAttention}},
       .windows = {Windows::kMixed, 512, 6},
       .scales_embeddings = true,
       .layer = {.attention_sum_norm = "post_attention_layernorm",
                 .feed_forward_norm = "pre_feedforward_layernorm",
                 .router = "router.proj",
                 .feed_forward_sum_norm = "post_feedforward_layernorm"},
       .read = read_gemma4,
       .write = write_gemma4,
       .translate = translate_gemma4,
       .layer_weights = gemma4_layer,
       .add_feed_forward = add_gemma4_feed_forward,
       .passed_over = gemma4_passed_over},
  };
}

}  // namespace

std::vector<Family> hybrid_families() { return joined({delta_nets(), lfm2s(), others()}); }

}  // namespace pando::model
