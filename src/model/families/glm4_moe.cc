// GLM-4.5 and GLM-4.6: a part of a head's channels rotates; behind the first layers mixtures of
// experts, which are chosen by sigmoids.
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/routed_experts.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr double kShare = 0.5;
constexpr const char *kDense = "first_k_dense_replace", *kNorms = "use_qk_norm";
constexpr const char* kAbsent = R"({
  "first_k_dense_replace": 1, "n_routed_experts": 128, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "moe_intermediate_size": 1408, "routed_scaling_factor": 1.0,
  "n_group": 1, "topk_group": 1
})";

void read(Fields& fields, ModelConfig& config) {
  read_decoder(
      fields,
      {.rms_eps = 1e-5, .attention_bias = true, .rope = {.partial = true, .rotary_share = kShare}},
      config);
  refuse_window(fields, config);
  config.o_bias = false;
  if (fields.boolean(kNorms, false)) config.qk_norm = QkNorm::kPerHead;
  read_routed_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers)), config);
  read_sigmoid_choice(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["attention_bias"] = config.qkv_bias;
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
  object[kNorms] = config.qk_norm == QkNorm::kPerHead;
  object[kDense] = n_dense_layers(config);
  write_routed_experts(config, object);
}

void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.multi_token_blocks();
  translate_routed_experts(gguf);
  require_sigmoids(gguf);
  nlohmann::json& config = gguf.config();
  config[kNorms] = gguf.has_tensor(".attn_q_norm.weight");
  if (!config.contains("partial_rotary_factor")) config["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  add_routed_feed_forward(specs, config, layer);
  return specs.take();
}

ModelConfig glm4_5_air() {
  ModelConfig config = shape_of(kGlm4Moe, {.vocab = 151552,
                                           .d_model = 4096,
                                           .n_layers = 46,
                                           .n_heads = 96,
                                           .n_kv_heads = 8,
                                           .d_ff = 10944});
  config.rotations[0].theta = 1e6;
  config.rotations[0].rotary_share = kShare;
  config.max_positions = 131072;
  config.qkv_bias = true;
  config.eos_ids = {151329, 151336, 151338};
  config.experts = {.n_experts = 128,
                    .n_used = 8,
                    .d_ff = 1408,
                    .shared_d_ff = 1408,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .choice_bias = true,
                    .n_group_best = 2};
  set_mixtures(1, config);
  return config;
}

// As the larger models, which have norms of queries and keys too.
ModelConfig tiny_glm4_moe() {
  ModelConfig config =
      tiny_shape(kGlm4Moe, {.n_layers = 2, .head_dim = 24, .d_ff = 136, .tied = false});
  config.rotations[0].rotary_share = kShare;
  config.qkv_bias = true;
  config.qk_norm = QkNorm::kPerHead;
  config.experts = {.n_experts = 8,
                    .n_used = 3,
                    .d_ff = 24,
                    .shared_d_ff = 48,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 2.5f,
                    .choice_bias = true,
                    .n_groups = 4,
                    .n_groups_used = 2,
                    .n_group_best = 2};
  set_mixtures(1, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"glm-4.5-air", glm4_5_air()}, {"tiny-glm4-moe", tiny_glm4_moe()}};
}

}  // namespace

const Family kGlm4Moe = {.name = "glm4_moe",
                         .architecture = "Glm4MoeForCausalLM",
                         .gguf_architecture = "glm4moe",
                         .offers = kRoutedFields,
                         .absent = kAbsent,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = layer_weights,
                         .passed_over = multi_token_layer,
                         .shapes = shapes};

}  // namespace pando::model
