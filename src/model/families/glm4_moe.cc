// GLM-4.5 and GLM-4.6: a part of a head's channels rotates; behind the first layers mixtures of
// experts, which are chosen by sigmoids.
#include "model/families/glm4_moe.h"

#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/routed_experts.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"

namespace pando::model {
namespace {

constexpr const char *kDense = "first_k_dense_replace", *kNorms = "use_qk_norm";

}  // namespace

void read_glm4_moe(Fields& fields, RopeFields rope, ModelConfig& config) {
  rope.partial = true;
  rope.rotary_share = kGlm4MoeShare;
  read_decoder(fields, {.rms_eps = 1e-5, .attention_bias = true, .rope = rope}, config);
  refuse_window(fields, config);
  config.o_bias = false;
  read_routed_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers)), config);
  read_sigmoid_choice(fields, config);
}

void write_glm4_moe(const ModelConfig& config, nlohmann::ordered_json& object) {
  object["attention_bias"] = config.qkv_bias;
  object["partial_rotary_factor"] = config.rotations[0].rotary_share;  // absent: a half
  object[kDense] = n_dense_layers(config);
  write_routed_experts(config, object);
}

void translate_glm4_moe(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  gguf.attention_bias();
  gguf.multi_token_blocks();
  translate_routed_experts(gguf);
  require_sigmoids(gguf);
  nlohmann::json& config = gguf.config();
  if (!config.contains("partial_rotary_factor")) config["partial_rotary_factor"] = 1.0;
}

std::vector<WeightSpec> glm4_moe_layer(const ModelConfig& config, int layer) {
  LayerSpecs specs(config, layer);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "post_attention_norm", &LayerWeights::feed_forward_norm);
  add_routed_feed_forward(specs, config, layer);
  return specs.take();
}

void set_glm4_moe_experts(ModelConfig& config) {
  config.experts = {.n_experts = 128,
                    .n_used = 8,
                    .d_ff = 1408,
                    .shared_d_ff = 1408,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .choice_bias = true,
                    .n_group_best = 2};
  set_mixtures(1, config);
}

void set_tiny_glm4_moe_experts(ModelConfig& config) {
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
}

namespace {

void read(Fields& fields, ModelConfig& config) {
  read_glm4_moe(fields, {}, config);
  if (fields.boolean(kNorms, false)) config.qk_norm = QkNorm::kPerHead;
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_glm4_moe(config, object);
  object[kNorms] = config.qk_norm == QkNorm::kPerHead;
}

void translate(GgufTranslator& gguf) {
  translate_glm4_moe(gguf);
  gguf.config()[kNorms] = gguf.has_tensor(".attn_q_norm.weight");
}

ModelConfig glm4_5_air() {
  ModelConfig config = shape_of(kGlm4Moe, {.vocab = 151552,
                                           .d_model = 4096,
                                           .n_layers = 46,
                                           .n_heads = 96,
                                           .n_kv_heads = 8,
                                           .d_ff = 10944});
  config.rotations[0].theta = 1e6;
  config.rotations[0].rotary_share = kGlm4MoeShare;
  config.max_positions = 131072;
  config.qkv_bias = true;
  config.eos_ids = {151329, 151336, 151338};
  set_glm4_moe_experts(config);
  return config;
}

// As the larger models, which have norms of queries and keys too.
ModelConfig tiny_glm4_moe() {
  ModelConfig config =
      tiny_shape(kGlm4Moe, {.n_layers = 2, .head_dim = 24, .d_ff = 136, .tied = false});
  config.rotations[0].rotary_share = kGlm4MoeShare;
  config.qkv_bias = true;
  config.qk_norm = QkNorm::kPerHead;
  set_tiny_glm4_moe_experts(config);
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
                         .absent = kGlm4MoeAbsent,
                         .read = read,
                         .write = write,
                         .translate = translate,
                         .layer_weights = glm4_moe_layer,
                         .passed_over = multi_token_layer,
                         .shapes = shapes};

}  // namespace pando::model
