// Families without mixtures of experts and without states.
#include "base/gguf.h"
#include "model/families/experts.h"
#include "model/families/hooks.h"
#include "model/families/rows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

// Llama and those that are most like it.
std::vector<Family> llamas() {
  return {
      {.name = "llama",
       .architecture = "LlamaForCausalLM",
       .gguf_architecture = "llama",
       .decoder = {.kv_heads_as_heads = true, .attention_bias = true},
       .layer = {.pairs = RowPairs::kGguf},
       // Mistral's files have the same architecture, and may have a window; Mixtral's have experts.
       .owns =
           [](const GgufFile& gguf) {
             return !has_gguf_window(gguf, "llama") && !has_gguf_experts(gguf, "llama");
           }},
      // Layers whose queries and keys do not rotate.
      {.name = "smollm3",
       .architecture = "SmolLM3ForCausalLM",
       .gguf_architecture = "smollm3",
       .offers = {"no_rope_layers"},
       .decoder = {.kv_heads_as_heads = true,
                   .tied = true,
                   .attention_bias = true,
                   .rope = {.theta = 2e6}},
       .layer = {.pairs = RowPairs::kGguf},
       .read = read_smollm3,
       .write = write_smollm3,
       .translate = translate_smollm3},
      // Mistral 7B, Mistral Small 3 and their like. GGUF files without a window are read as
      // Llama's: there is no other difference.
      {.name = "mistral",
       .architecture = "MistralForCausalLM",
       .gguf_architecture = "llama",
       .wrapper = "mistral3",
       .windows = {Windows::kAll, 4096},
       .layer = {.pairs = RowPairs::kGguf},
       .owns =
           [](const GgufFile& gguf) {
             return has_gguf_window(gguf, "llama") && !has_gguf_experts(gguf, "llama");
           }},
      // Queries grow with their positions. GGUF files of Mistral Small 3 are of this architecture
      // too.
      {.name = "ministral3",
       .architecture = "Ministral3ForCausalLM",
       .gguf_architecture = "mistral3",
       .wrapper = "mistral3",
       .offers = {"attention.temperature_scale", "rope.scaling.yarn_log_multiplier"},
       .decoder = {.head_dim = 128, .rms_eps = 1e-5, .rope = {.query_growth = true, .theta = 1e6}},
       .windows = {Windows::kAll},
       .layer = {.pairs = RowPairs::kGguf},
       .read = read_ministral3,
       .translate = translate_ministral3},
      // A feed-forward without a gate.
      {.name = "arcee",
       .architecture = "ArceeForCausalLM",
       .gguf_architecture = "arcee",
       .fixed = {.activation = Activation::kSquaredRelu},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .activation = "relu2",
                   .attention_bias = true},
       .layer = {.pairs = RowPairs::kGguf}},
      {.name = "seed_oss",
       .architecture = "SeedOssForCausalLM",
       .gguf_architecture = "seed_oss",
       .decoder = {.head_dim = 128, .kv_heads_as_heads = true, .attention_bias = true},
       .biases = {{"attention_bias", true, {&ModelSpec::qkv_bias}},
                  {"attention_out_bias", false, {&ModelSpec::o_bias}, ".attn_output.bias"}},
       .layer = {.gguf_feed_forward_norm = "post_attention_norm"}},
      {.name = "granite",
       .architecture = "GraniteForCausalLM",
       .gguf_architecture = "granite",
       .decoder = {.kv_heads_as_heads = true, .attention_bias = true},
       .numbers = multipliers(),
       .layer = {.pairs = RowPairs::kGguf},
       .translate = translate_granite},
      // Channels that turn together are neighbours.
      {.name = "ernie4_5",
       .architecture = "Ernie4_5ForCausalLM",
       .gguf_architecture = "ernie4_5",
       .older_architecture = "Ernie4_5_ForCausalLM",
       .decoder = {.rms_eps = 1e-5, .tied = true, .rope = {.theta = 5e5}},
       .only = {{"use_bias", false}},
       .layer = {.pairs = RowPairs::kAll},
       .read = read_ernie4_5},
      // RMSNorm of each query and key, after the rotation; theta may be stretched.
      {.name = "hunyuan_v1_dense",
       .architecture = "HunYuanDenseV1ForCausalLM",
       .gguf_architecture = "hunyuan-dense",
       .offers = {"num_experts"},
       .fixed = {.qk_norm = QkNorm::kPerHeadTurned},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .attention_bias = true,
                   .rope = {.alpha = true}},
       .only = {{"use_qk_norm", true}, {"use_cla", false}},
       .layer = {.q_norm = "self_attn.query_layernorm", .k_norm = "self_attn.key_layernorm"},
       .read = read_hunyuan},
  };
}

std::vector<Family> qwens() {
  return {
      // Qwen2 and Qwen2.5. A GGUF file does not say which layers have a window.
      {.name = "qwen2",
       .architecture = "Qwen2ForCausalLM",
       .gguf_architecture = "qwen2",
       .fixed = {.qkv_bias = true},
       .windows = {Windows::kSome, 4096}},
      // The part of Qwen2.5-VL that reads texts. Here and below, `sections`: positions have three
      // parts, which are equal for texts.
      {.name = "qwen2_5_vl_text",
       .architecture = "Qwen2_5_VLForCausalLM",
       .gguf_architecture = "qwen2vl",
       .wrapper = "qwen2_5_vl",
       .fixed = {.qkv_bias = true},
       .decoder = {.kv_heads_as_heads = true, .rms_eps = 1e-5, .rope = {.sections = true}},
       .windows = {Windows::kUnread},
       .only = {{"use_sliding_window", false}}},
      {.name = "qwen3",
       .architecture = "Qwen3ForCausalLM",
       .gguf_architecture = "qwen3",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = {.head_dim = 128, .attention_bias = true},
       .windows = {Windows::kSome, 4096}},
      {.name = "qwen3_vl_text",
       .architecture = "Qwen3VLForCausalLM",
       .gguf_architecture = "qwen3vl",
       .wrapper = "qwen3_vl",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = {.head_dim = 128,
                   .kv_heads_as_heads = true,
                   .attention_bias = true,
                   .rope = {.sections = true}}},
      // Fused projections, longrope over part of a head.
      {.name = "phi3",
       .architecture = "Phi3ForCausalLM",
       .gguf_architecture = "phi3",
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .rope = {.partial = true, .longrope_names = kPhi3LongRopes}},
       .windows = {Windows::kAll},
       .layer = {.qkv = "self_attn.qkv_proj", .fused_gate_up = true}},
  };
}

// Norms behind attention and feed-forward, and none before.
constexpr LayerNames kOlmo2Layer = {.attention_norm = nullptr,
                                    .attention_sum_norm = "post_attention_layernorm",
                                    .feed_forward_norm = nullptr,
                                    .feed_forward_sum_norm = "post_feedforward_layernorm"};

std::vector<Family> olmos() {
  return {
      {.name = "olmo2",
       .architecture = "Olmo2ForCausalLM",
       .gguf_architecture = "olmo2",
       .fixed = {.qk_norm = QkNorm::kFullWidth},
       .decoder = {.kv_heads_as_heads = true, .rms_eps = 1e-5, .attention_bias = true},
       .layer = kOlmo2Layer,
       // OLMo 3's files have the same architecture and windows.
       .owns = [](const GgufFile& gguf) { return !has_gguf_window(gguf, "olmo2"); }},
      // The rotation of layers with a window is not scaled as the others' is.
      {.name = "olmo3",
       .architecture = "Olmo3ForCausalLM",
       .gguf_architecture = "olmo2",
       .offers = {kSlidingBase},
       .fixed = {.qk_norm = QkNorm::kFullWidth},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .attention_bias = true,
                   .rope = {.theta = 5e5, .layer_type = kFullAttention}},
       .windows = {Windows::kMixed, 4096, 4},
       .layer = kOlmo2Layer,
       .read = read_olmo3,
       .write = write_olmo3,
       .owns = [](const GgufFile& gguf) { return has_gguf_window(gguf, "olmo2"); },
       .translate = translate_olmo3},
      // The larger model has a window in most layers, and no rotation in the others.
      {.name = "exaone4",
       .architecture = "Exaone4ForCausalLM",
       .gguf_architecture = "exaone4",
       .fixed = {.qk_norm = QkNorm::kPerHead},
       .decoder = {.rms_eps = 1e-5},
       .windows = {Windows::kMixed, 4096, 4},
       .layer = kOlmo2Layer,
       .read = read_exaone4,
       .write = write_exaone4},
  };
}

// Cohere's Command R and those that came after: LayerNorm; attention and feed-forward read the same
// norm; the channels that turn together are neighbours; logits times a scale.
std::vector<Family> coheres() {
  const ModelSpec fixed = {.norm = Norm::kLayer, .parallel = true};
  const DecoderFields decoder = {.kv_heads_as_heads = true,
                                 .rms_eps = 1e-5,
                                 .rms_eps_name = "layer_norm_eps",
                                 .tied = true,
                                 .attention_bias = true,
                                 .rope = {.theta = 5e5}};
  DecoderFields decoder2 = decoder;
  decoder2.rope.theta = 1e4;
  const NumberField scale = {"logit_scale", "logit_scale", &ModelSpec::logit_scale, 0.0625};
  const LayerNames layer = {.pairs = RowPairs::kAll, .feed_forward_norm = nullptr};
  return {
      {.name = "cohere",
       .architecture = "CohereForCausalLM",
       .gguf_architecture = "command-r",
       .fixed = fixed,
       .decoder = decoder,
       .use_qk_norm = QkNorm::kLayerPerHead,
       .numbers = {scale},
       .layer = layer},
      // A window and rotation in most layers, and neither in the others.
      {.name = "cohere2",
       .architecture = "Cohere2ForCausalLM",
       .gguf_architecture = "cohere2",
       .fixed = fixed,
       .decoder = decoder2,
       .windows = {Windows::kMixed, 4096, 4, /*says_interval=*/true},
       .numbers = {scale},
       .only = {{"rotary_pct", 1.0}, {"use_parallel_block", true}},
       .layer = layer,
       .read = read_cohere2},
  };
}

// GLM-4: half of a head's channels rotate, and those that turn together are neighbours; biases of
// queries, keys and values.
std::vector<Family> glms() {
  const BiasField bias = {"attention_bias", true, {&ModelSpec::qkv_bias}};
  const DecoderFields decoder = {.head_dim = 128,
                                 .rms_eps = 1.5625e-7,
                                 .attention_bias = true,
                                 .rope = {.partial = true, .rotary_share = 0.5}};
  const LayerNames layer = {.pairs = RowPairs::kAll,
                            .attention_sum_norm = "post_self_attn_layernorm",
                            .fused_gate_up = true,
                            .feed_forward_sum_norm = "post_mlp_layernorm"};
  // llama.cpp's converter lays the channels that turn together half a head apart.
  LayerNames vision = layer;
  vision.pairs = RowPairs::kCheckpoint;
  return {
      // The models of 2024.
      {.name = "glm",
       .architecture = "GlmForCausalLM",
       .gguf_architecture = "chatglm",
       .decoder = decoder,
       .biases = {bias},
       .layer = {.pairs = RowPairs::kAll, .fused_gate_up = true}},
      // The part of GLM-4.1V that reads texts. GLM-4's own files have no parts of positions.
      {.name = "glm4v_text",
       .architecture = "Glm4vForCausalLM",
       .gguf_architecture = "glm4",
       .wrapper = "glm4v",
       .decoder = {.rms_eps = 1e-5,
                   .attention_bias = true,
                   .rope = {.partial = true, .sections = true}},
       .biases = {bias},
       .only = {{"attention_bias", true}},
       .layer = vision,
       .read = read_glm4v,
       .owns = [](const GgufFile& gguf) { return has_gguf_sections(gguf, "glm4"); },
       .translate = translate_glm4v},
      {.name = "glm4",
       .architecture = "Glm4ForCausalLM",
       .gguf_architecture = "glm4",
       .decoder = decoder,
       .biases = {bias},
       .layer = layer},
  };
}

// Gemma: weights of norms stored minus 1; GELU; embeddings times the square root of their width.
std::vector<Family> gemmas() {
  const ModelSpec fixed = {.activation = Activation::kGeluTanh};
  const DecoderFields decoder = {.head_dim = 256,
                                 .activation = "gelu_pytorch_tanh",
                                 .activation_name = "hidden_activation",
                                 .tied = true,
                                 .attention_bias = true};
  DecoderFields typed = decoder;
  typed.rope = {.theta = 1e6, .layer_type = kFullAttention};
  const LayerNames layer = {.attention_sum_norm = "post_attention_layernorm",
                            .feed_forward_norm = "pre_feedforward_layernorm",
                            .feed_forward_sum_norm = "post_feedforward_layernorm",
                            .norms = Stored::kOneLess};
  return {
      // Older files say "gelu". The library takes it as the same activation.
      {.name = "gemma",
       .architecture = "GemmaForCausalLM",
       .gguf_architecture = "gemma",
       .fixed = fixed,
       .decoder = {.head_dim = 256,
                   .activation = "gelu_pytorch_tanh",
                   .older_activation = "gelu",
                   .tied = true,
                   .attention_bias = true},
       .scales_embeddings = true,
       .layer = {.norms = Stored::kOneLess}},
      // Soft caps of scores and of logits; a window in every other layer.
      {.name = "gemma2",
       .architecture = "Gemma2ForCausalLM",
       .gguf_architecture = "gemma2",
       .offers = {kGemmaScalar},
       .fixed = fixed,
       .decoder = decoder,
       .windows = {Windows::kMixed, 4096, 2, /*says_interval=*/true},
       .numbers = {{"attn_logit_softcapping", "attn_logit_softcapping", &ModelSpec::score_cap, 50.0,
                    /*may_be_null=*/true},
                   {"final_logit_softcapping", "final_logit_softcapping", &ModelSpec::logit_cap,
                    30.0, /*may_be_null=*/true}},
       .scales_embeddings = true,
       .layer = layer,
       .read = read_gemma2,
       .write = write_gemma2,
       .translate = translate_gemma2},
      // Text: a window in most layers, which have a rotation of their own. Published files leave
      // out what the library takes anyway.
      {.name = "gemma3_text",
       .architecture = "Gemma3ForCausalLM",
       .gguf_architecture = "gemma3",
       .other_gguf_architecture = kGemmaEmbedding,
       .wrapper = "gemma3",
       .offers = {kGemmaScalar, kSlidingBase},
       .absent = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
                     "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
                     "max_position_embeddings": 131072})",
       .fixed = {.activation = Activation::kGeluTanh, .qk_norm = QkNorm::kPerHead},
       .decoder = typed,
       .windows = {Windows::kMixed, 4096, 6, /*says_interval=*/true},
       .scales_embeddings = true,
       .layer = layer,
       .read = read_gemma3,
       .write = write_gemma3,
       .translate = translate_gemma3},
  };
}

// LayerNorm with biases.
std::vector<Family> layer_norms() {
  return {
      {.name = "stablelm",
       .architecture = "StableLmForCausalLM",
       .gguf_architecture = "stablelm",
       .older_architecture = "StableLMEpochForCausalLM",
       .fixed = {.norm = Norm::kLayer, .norm_bias = true},
       .decoder = {.rms_eps = 1e-5,
                   .rms_eps_name = "layer_norm_eps",
                   .rope = {.partial = true, .rotary_share = 0.25}},
       .biases = {{"use_qkv_bias", false, {&ModelSpec::qkv_bias}}},
       .only = {{"qk_layernorm", false}},
       .read = read_stablelm},
      // A feed-forward without a gate; weights of norms are stored minus 1.
      {.name = "nemotron",
       .architecture = "NemotronForCausalLM",
       .gguf_architecture = "nemotron",
       .fixed = {.norm = Norm::kLayer, .norm_bias = true, .activation = Activation::kSquaredRelu},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .rms_eps_name = "norm_eps",
                   .activation = "relu2",
                   .attention_bias = true,
                   .rope = {.partial = true, .rotary_share = 0.5}},
       .layer = {.norms = Stored::kOneLess}},
      // GPT-NeoX and Pythia: attention and feed-forward side by side, each with its own norm;
      // queries, keys and values of a head in neighbouring rows of one tensor.
      {.name = "gpt_neox",
       .architecture = "GPTNeoXForCausalLM",
       .gguf_architecture = "gptneox",
       .offers = {"use_parallel_residual"},
       .fixed = {.norm = Norm::kLayer,
                 .norm_bias = true,
                 .parallel = true,
                 .feed_forward_bias = true,
                 .activation = Activation::kUngatedGelu},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .rms_eps_name = "layer_norm_eps",
                   .activation = "gelu",
                   .gelus = true,
                   .attention_bias = true,
                   .rope = {.partial = true, .rotary_share = 0.25}},
       .biases =
           {{"attention_bias", true, {&ModelSpec::qkv_bias, &ModelSpec::o_bias}, ".attn_qkv.bias"}},
       .layer = {.qkv = "attention.query_key_value",
                 .qkv_by_head = true,
                 .output = "attention.dense",
                 .up = "mlp.dense_h_to_4h",
                 .down = "mlp.dense_4h_to_h"},
       .embedding = "model.embed_in.weight",
       .last_norm = "model.final_layer_norm",
       .read = read_gpt_neox,
       .write = write_gpt_neox,
       .translate = translate_gpt_neox,
       .passed_over = gpt_neox_mask},
      {.name = "starcoder2",
       .architecture = "Starcoder2ForCausalLM",
       .gguf_architecture = "starcoder2",
       .fixed = {.norm = Norm::kLayer,
                 .norm_bias = true,
                 .activation = Activation::kUngatedGeluTanh},
       .decoder = {.rms_eps = 1e-5,
                   .rms_eps_name = "norm_epsilon",
                   .activation = "gelu_pytorch_tanh",
                   .gelus = true,
                   .tied = true},
       .biases = {{"use_bias",
                   true,
                   {&ModelSpec::qkv_bias, &ModelSpec::o_bias, &ModelSpec::feed_forward_bias},
                   ".ffn_up.bias"}},
       .windows = {Windows::kAll},
       .layer = {.up = "mlp.c_fc", .down = "mlp.c_proj"}},
      // Phi-1, Phi-1.5 and Phi-2: attention and feed-forward side by side, with one norm.
      {.name = "phi",
       .architecture = "PhiForCausalLM",
       .gguf_architecture = "phi2",
       .fixed = {.norm = Norm::kLayer,
                 .norm_bias = true,
                 .parallel = true,
                 .feed_forward_bias = true,
                 .activation = Activation::kUngatedGeluTanh,
                 .qkv_bias = true,
                 .o_bias = true,
                 .head_bias = true},
       .decoder = {.kv_heads_as_heads = true,
                   .rms_eps = 1e-5,
                   .rms_eps_name = "layer_norm_eps",
                   .activation = "gelu_new",
                   .gelus = true,
                   .rope = {.partial = true, .rotary_share = 0.5}},
       .only = {{"qk_layernorm", false}},
       .layer = {.output = "self_attn.dense",
                 .feed_forward_norm = nullptr,
                 .up = "mlp.fc1",
                 .down = "mlp.fc2"},
       .last_norm = "model.final_layernorm"},
  };
}

}  // namespace

std::vector<Family> dense_families() {
  return joined({llamas(), qwens(), olmos(), coheres(), glms(), gemmas(), layer_norms()});
}

}  // namespace pando::model
