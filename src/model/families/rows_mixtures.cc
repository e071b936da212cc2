// Families with mixtures of experts and without states.
#include "base/gguf.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/routed_experts.h"
#include "model/families/rows.h"

namespace pando::model {
namespace {

// Mixtral's, and those of families like it.
constexpr ExpertNames kMixtralNames = {.gate_up = "block_sparse_moe.experts.gate_up_proj",
                                       .down = "block_sparse_moe.experts.down_proj",
                                       .module = "block_sparse_moe.experts",
                                       .gate = "w1",
                                       .up = "w3",
                                       .down_of_one = "w2"};

// A mixture in every layer, which has the width of dense feed-forwards.
std::vector<Family> mixtrals() {
  return {
      // Mistral with experts. Files of Llama and Mistral have the same architecture.
      {.name = "mixtral",
       .architecture = "MixtralForCausalLM",
       .gguf_architecture = "llama",
       .fixed = {.experts = {.renormalised = true}},
       .decoder = {.rms_eps = 1e-5, .rope = {.theta = 1e6}},
       .windows = {Windows::kAll},
       .experts = local_experts(8, 2),
       .layer = {.pairs = RowPairs::kGguf,
                 .router = "block_sparse_moe.gate",
                 .experts = kMixtralNames},
       .owns = [](const GgufFile& gguf) { return has_gguf_experts(gguf, "llama"); }},
      // LayerNorm with biases, longrope; the router weighs two experts one after the other.
      {.name = "phimoe",
       .architecture = "PhimoeForCausalLM",
       .gguf_architecture = "phimoe",
       .older_architecture = "PhiMoEForCausalLM",
       .fixed = {.norm = Norm::kLayer,
                 .norm_bias = true,
                 .experts = {.scores = RouterScores::kSparseMixer}},
       .decoder = {.rms_eps = 1e-5,
                   .gguf_eps = "attention.layer_norm_rms_epsilon",
                   .attention_bias = true,
                   .rope = {.mscales = true, .theta = 1e6}},
       .windows = {Windows::kAll},
       .experts = local_experts(16, 2),
       .layer = {.router = "block_sparse_moe.gate", .experts = kMixtralNames},
       .read = read_phimoe,
       .write = write_phimoe,
       .translate = translate_phimoe},
      // RMSNorm of all queries and of all keys.
      {.name = "olmoe",
       .architecture = "OlmoeForCausalLM",
       .gguf_architecture = "olmoe",
       .fixed = {.qk_norm = QkNorm::kFullWidth},
       .decoder = {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true},
       .experts = {{.n_experts = 64,
                    .n_used = 8,
                    .d_ff_name = "intermediate_size",
                    .norm_topk_prob = {{.absent = false, .gguf = false}}}}},
      // One norm over all queries of a row and one over all keys; sigmoids and a bias choose.
      {.name = "minimax_m2",
       .architecture = "MiniMaxM2ForCausalLM",
       .gguf_architecture = "minimax-m2",
       .fixed = {.qk_norm = QkNorm::kFullWidth,
                 .experts = {.scores = RouterScores::kSigmoid,
                             .renormalised = true,
                             .choice_bias = true}},
       .decoder = {.head_dim = 128, .rope = {.partial = true, .theta = 5e6}},
       .experts = local_experts(256, 8, /*required=*/true),
       .only = {{"scoring_func", "sigmoid"},
                {"qk_norm_type", "per_layer"},
                {"use_qk_norm", true},
                {"use_routing_bias", true},
                {"layernorm_full_attention_alpha", 1.0},
                {"layernorm_full_attention_beta", 1.0},
                {"layernorm_mlp_alpha", 1.0},
                {"layernorm_mlp_beta", 1.0}},
       .layer = {.router = "block_sparse_moe.gate",
                 .choice_bias = "block_sparse_moe.e_score_correction_bias",
                 .experts = kMixtralNames},
       .read = read_minimax_m2,
       .translate = translate_minimax_m2},
      // Sinks in attention, a window in every other layer, biases everywhere; gates and ups of
      // experts are clamped.
      {.name = "gpt_oss",
       .architecture = "GptOssForCausalLM",
       .gguf_architecture = "gpt-oss",
       .offers = {"swiglu_limit"},
       .fixed = {.activation = Activation::kClampedSilu,
                 .attention_sinks = true,
                 .experts = {.scores = RouterScores::kSoftmaxOfChosen,
                             .router_bias = true,
                             .biases = true}},
       .decoder = {.head_dim = 64,
                   .rms_eps = 1e-5,
                   .attention_bias = true,
                   .rope = {.theta = kGptOssTheta}},
       .biases = {{"attention_bias", true, {&ModelSpec::qkv_bias, &ModelSpec::o_bias}}},
       .windows = {Windows::kMixed, 128, 2},
       .experts = local_experts(128, 4, /*required=*/true),
       .layer = {.gguf_feed_forward_norm = "post_attention_norm",
                 .router = "mlp.router",
                 .experts = {.module = nullptr}},
       .read = read_gpt_oss,
       .write = write_gpt_oss,
       .translate = translate_gpt_oss,
       .layer_weights = gpt_oss_layer},
  };
}

std::vector<Family> qwens() {
  return {
      // Qwen1.5 and Qwen2 with a gated shared expert. A GGUF file has experts in every layer, and
      // readers do not renormalise.
      {.name = "qwen2_moe",
       .architecture = "Qwen2MoeForCausalLM",
       .gguf_architecture = "qwen2moe",
       .biases = {{"qkv_bias", true, {&ModelSpec::qkv_bias}}},
       .windows = {Windows::kSome},
       .experts = {{.n_experts = 60,
                    .n_used = 4,
                    .dense_layers = true,
                    .shared_name = "shared_expert_intermediate_size",
                    .shared_absent = 5632,
                    .shared_gate = true,
                    .norm_topk_prob = {{.absent = false, .gguf = false}}}},
       .only = {{"use_sliding_window", false}},
       .layer = {.shared = "mlp.shared_expert"},
       .translate = translate_qwen2_moe},
      // RMSNorm of each query and key. A GGUF file has experts in every layer, and readers
      // renormalise.
      {.name = "qwen3_moe",
       .architecture = "Qwen3MoeForCausalLM",
       .gguf_architecture = "qwen3moe",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = {.attention_bias = true},
       .windows = {Windows::kUnread},
       .experts = {{.n_experts = 128,
                    .n_used = 8,
                    .dense_layers = true,
                    .norm_topk_prob = {{.absent = false, .gguf = true}}}},
       .only = {{"use_sliding_window", false}}},
      // The part of Qwen3-VL that reads texts. Published checkpoints hold the matrices of experts
      // transposed; checkpoints that the library saves do not.
      {.name = "qwen3_vl_moe_text",
       .architecture = "Qwen3VLMoeForCausalLM",
       .gguf_architecture = "qwen3vlmoe",
       .wrapper = "qwen3_vl_moe",
       .fixed = {.qk_norm = QkNorm::kPerHead, .experts = {.renormalised = true}},
       .decoder = {.kv_heads_as_heads = true,
                   .attention_bias = true,
                   .rope = {.sections = true, .theta = 5e5}},
       .experts = {{.n_experts = 60, .n_used = 4, .dense_layers = true}},
       .only = {{"norm_topk_prob", true}},
       .read = read_qwen3_vl_moe},
  };
}

// Granite 3. GGUF files of both families have the same architecture.
std::vector<Family> granites() {
  const ModelSpec fixed = {.experts = {.scores = RouterScores::kSoftmaxOfChosen}};
  const DecoderFields decoder = {.kv_heads_as_heads = true, .attention_bias = true};
  const ExpertFields experts = local_experts(8, 2);
  ExpertFields shared = experts;
  shared.shared_name = "shared_intermediate_size";
  return {
      {.name = "granitemoe",
       .architecture = "GraniteMoeForCausalLM",
       .gguf_architecture = "granitemoe",
       .fixed = fixed,
       .decoder = decoder,
       .experts = experts,
       .numbers = multipliers(),
       .layer = kGraniteLayer,
       .owns = [](const GgufFile& gguf) { return !has_granite_shared(gguf); },
       .add_feed_forward = add_granite_feed_forward},
      {.name = "granitemoeshared",
       .architecture = "GraniteMoeSharedForCausalLM",
       .gguf_architecture = "granitemoe",
       .fixed = fixed,
       .decoder = decoder,
       .experts = shared,
       .numbers = multipliers(),
       .layer = kGraniteLayer,
       .owns = has_granite_shared,
       .add_feed_forward = add_granite_feed_forward},
  };
}

// Mixtures behind the first layers, with shared experts; sigmoids choose the experts.
std::vector<Family> routed() {
  constexpr const char* kGlmAbsent = R"({
    "first_k_dense_replace": 1, "n_routed_experts": 128, "n_shared_experts": 1,
    "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "routed_scaling_factor": 1.0,
    "n_group": 1, "topk_group": 1
  })";
  const DecoderFields glm = {
      .rms_eps = 1e-5, .attention_bias = true, .rope = {.partial = true, .rotary_share = 0.5}};
  DecoderFields vision = glm;
  vision.rope.sections = true;
  const RoutedFields glm_experts = {.says_sigmoids = true, .multi_token = true};
  const LayerNames glm_layer = {.gguf_feed_forward_norm = "post_attention_norm"};
  return {
      // The part of GLM-4.5V that reads texts. GLM-4.5's own files have no parts of positions.
      {.name = "glm4v_moe_text",
       .architecture = "Glm4vMoeForCausalLM",
       .gguf_architecture = "glm4moe",
       .wrapper = "glm4v_moe",
       .absent = kGlmAbsent,
       .decoder = vision,
       .biases = {{"attention_bias", true, {&ModelSpec::qkv_bias}}},
       .routed = glm_experts,
       .only = {{"use_qk_norm", false}},
       .layer = glm_layer,
       .owns = [](const GgufFile& gguf) { return has_gguf_sections(gguf, "glm4moe"); },
       .passed_over = multi_token_layer},
      // GLM-4.5 and GLM-4.6.
      {.name = "glm4_moe",
       .architecture = "Glm4MoeForCausalLM",
       .gguf_architecture = "glm4moe",
       .absent = kGlmAbsent,
       .decoder = glm,
       .biases = {{"attention_bias", false, {&ModelSpec::qkv_bias}}},
       .use_qk_norm = QkNorm::kPerHead,
       .routed = glm_experts,
       .layer = glm_layer,
       .passed_over = multi_token_layer},
      {.name = "dots1",
       .architecture = "Dots1ForCausalLM",
       .gguf_architecture = "dots1",
       .absent = R"({"first_k_dense_replace": 0, "routed_scaling_factor": 1.0,
                     "norm_topk_prob": false, "n_group": 1, "topk_group": 1})",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = {.kv_heads_as_heads = true, .attention_bias = true},
       .windows = {Windows::kUnread},
       .routed = {{.says_sigmoids = true}},
       .read = read_dots1,
       .write = write_dots1},
  };
}

// Latent attention. GGUF files of all three have the same architecture.
std::vector<Family> latents() {
  const RoutedFields sigmoids = {.multi_token = true};
  return {
      // DeepSeek-V2 and V2-Lite: a softmax chooses the experts.
      {.name = "deepseek_v2",
       .architecture = "DeepseekV2ForCausalLM",
       .gguf_architecture = "deepseek2",
       .offers = {kLatentOffers.begin(), kLatentOffers.end()},
       .absent = R"({"first_k_dense_replace": 0, "n_routed_experts": 64, "n_shared_experts": 2,
                     "moe_intermediate_size": 1407, "routed_scaling_factor": 1.0})",
       .windows = {Windows::kIgnored},
       .routed = {{.sigmoids = false, .multi_token = true}},
       .read = read_deepseek_v2,
       .write = write_deepseek_v2,
       .owns = [](const GgufFile& gguf) { return !has_sigmoid_router(gguf); },
       .translate = translate_deepseek_v2,
       .add_mixer = add_latent,
       .passed_over = multi_token_layer},
      {.name = "deepseek_v3",
       .architecture = "DeepseekV3ForCausalLM",
       .gguf_architecture = "deepseek2",
       .offers = {kLatentOffers.begin(), kLatentOffers.end()},
       .absent = R"({"first_k_dense_replace": 3, "n_routed_experts": 256, "n_shared_experts": 1,
                     "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
                     "routed_scaling_factor": 2.5, "n_group": 8, "topk_group": 4})",
       .windows = {Windows::kIgnored},
       .routed = sigmoids,
       .read = read_deepseek_v3,
       .write = write_latent,
       .owns =
           [](const GgufFile& gguf) {
             return has_sigmoid_router(gguf) && !has_glm_tokenizer(gguf);
           },
       .translate = translate_latent,
       .add_mixer = add_latent,
       .passed_over = multi_token_layer},
      // GLM-4.7-Flash.
      {.name = "glm4_moe_lite",
       .architecture = "Glm4MoeLiteForCausalLM",
       .gguf_architecture = "deepseek2",
       .offers = {kLatentOffers.begin(), kLatentOffers.end()},
       .absent = R"({"n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
                     "moe_intermediate_size": 1536, "routed_scaling_factor": 1.8, "n_group": 1,
                     "topk_group": 1})",
       .decoder = {.rms_eps = 1e-5},
       .windows = {Windows::kIgnored},
       .routed = sigmoids,
       .read = read_glm4_moe_lite,
       .write = write_glm4_moe_lite,
       .owns =
           [](const GgufFile& gguf) { return has_sigmoid_router(gguf) && has_glm_tokenizer(gguf); },
       .translate = translate_glm4_moe_lite,
       .add_mixer = add_latent,
       .passed_over = multi_token_layer},
  };
}

// With fields and tensors of their own names.
std::vector<Family> others() {
  return {
      // Mixtures in some layers; a bias counts in the choice of experts.
      {.name = "ernie4_5_moe",
       .architecture = "Ernie4_5_MoeForCausalLM",
       .gguf_architecture = "ernie4_5-moe",
       .offers = {"expert_count"},
       .absent = R"({"moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536,
                     "moe_num_shared_experts": 2, "moe_layer_start_index": 1,
                     "moe_layer_end_index": -1, "moe_layer_interval": 1})",
       .fixed = {.experts = {.renormalised = true, .choice_bias = true}},
       .decoder = {.rms_eps = 1e-5, .tied = true, .rope = {.theta = 5e5}},
       .only = {{"use_bias", false}, {"moe_use_aux_free", true}, {"moe_gate_act", "softmax"}},
       .layer = {.pairs = RowPairs::kAll, .choice_bias = "mlp.moe_statics.e_score_correction_bias"},
       .read = read_ernie4_5_moe,
       .write = write_ernie4_5_moe,
       .translate = translate_ernie4_5_moe,
       .layer_weights = ernie4_5_moe_layer,
       .passed_over = ernie4_5_multi_token},
      // HunYuan with experts and a shared expert in every layer, all of one width.
      {.name = "hunyuan_v1_moe",
       .architecture = "HunYuanMoEV1ForCausalLM",
       .gguf_architecture = "hunyuan-moe",
       .offers = {"num_experts", "num_local_experts", "expert_count"},
       .fixed = {.qk_norm = QkNorm::kPerHeadTurned, .experts = {.renormalised = true}},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .attention_bias = true,
                   .rope = {.alpha = true}},
       .only = {{"use_qk_norm", true},
                {"use_cla", false},
                {"use_mixed_mlp_moe", true},
                {"norm_topk_prob", true},
                {"use_mla", false},
                {"group_limited_greedy", false}},
       .layer = {.q_norm = "self_attn.query_layernorm",
                 .k_norm = "self_attn.key_layernorm",
                 .router = "mlp.gate.wg",
                 .shared = "mlp.shared_mlp"},
       .read = read_hunyuan_moe,
       .write = write_hunyuan_moe,
       .translate = translate_hunyuan_moe},
  };
}

}  // namespace

std::vector<Family> mixture_families() {
  return joined({mixtrals(), qwens(), granites(), routed(), latents(), others()});
}

}  // namespace pando::model
