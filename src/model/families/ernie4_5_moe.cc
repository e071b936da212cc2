// ERNIE 4.5 with mixtures of experts in some layers; a bias counts in the choice of experts.
#include <vector>

#include "base/errors.h"
#include "model/families/decoder_fields.h"
#include "model/families/experts.h"
#include "model/families/layer_specs.h"
#include "model/families/list.h"
#include "model/families/shapes.h"
#include "model/families/windows.h"
#include "model/gguf_translator.h"

namespace pando::model {
namespace {

constexpr std::string_view kOffers[] = {"expert_count"};
constexpr const char *kCount = "moe_num_experts", *kUsed = "moe_k",
                     *kWidth = "moe_intermediate_size", *kShared = "moe_num_shared_experts",
                     *kFirst = "moe_layer_start_index", *kLast = "moe_layer_end_index",
                     *kInterval = "moe_layer_interval";
constexpr const char* kAbsent = R"({
  "moe_num_experts": 64, "moe_k": 6, "moe_intermediate_size": 1536, "moe_num_shared_experts": 2,
  "moe_layer_start_index": 1, "moe_layer_end_index": -1, "moe_layer_interval": 1
})";

void fix(ModelConfig& config) {
  config.experts.renormalised = true;
  config.experts.choice_bias = true;
}

// Of the layers from the first to the last one every `interval`-th; -1: up to the last of all.
void read_mixtures(Fields& fields, ModelConfig& config) {
  const int64_t first = fields.integer(kFirst, 0, kMaxLayers);
  const int64_t last = fields.integer(kLast, -1, kMaxLayers);
  const int64_t interval = fields.integer(kInterval, 1, kMaxLayers);
  for (int i = 0; i < config.n_layers(); ++i)
    if (i >= first && (i <= last || last == -1) && (i + 1) % interval == 0)
      config.layers[i].feed_forward = FeedForward::kExperts;
}

void read(Fields& fields, ModelConfig& config) {
  read_decoder(fields, {.rms_eps = 1e-5, .tied = true, .rope = {.theta = 5e5}}, config);
  refuse_window(fields, config);
  if (fields.boolean("use_bias", false))
    fields.refuse("use_bias", "false", ErrorCode::kUnsupported);
  if (!fields.boolean("moe_use_aux_free", true))
    fields.refuse("moe_use_aux_free", "true", ErrorCode::kUnsupported);
  constexpr const char* kScores = "moe_gate_act";
  if (fields.string(kScores, "softmax") != "softmax")
    fields.refuse(kScores, "\"softmax\"", ErrorCode::kUnsupported);
  constexpr const char* kLeast = "moe_norm_min";
  if (fields.has(kLeast) && *fields.find(kLeast) != 1e-12)
    fields.refuse(kLeast, "1e-12", ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer(kCount, 1, kMaxExperts));
  e.n_used = static_cast<int>(fields.integer(kUsed, 1, kMaxUsedExperts));
  e.d_ff = static_cast<int>(fields.integer(kWidth, 1, kMaxWidth));
  read_shared_experts(fields, kShared, config);
  read_mixtures(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  object[kCount] = e.n_experts;
  object[kUsed] = e.n_used;
  object[kWidth] = e.d_ff;
  object[kShared] = e.shared_d_ff / e.d_ff;
  std::vector<int> mixtures;
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.layers[i].feed_forward == FeedForward::kExperts) mixtures.push_back(i);
  object[kFirst] = mixtures.empty() ? config.n_layers() : mixtures.front();
  object[kLast] = mixtures.empty() ? -1 : mixtures.back();
  object[kInterval] = mixtures.size() < 2 ? 1 : mixtures[1] - mixtures[0];
}

// A file has the width of all shared experts together.
void translate(GgufTranslator& gguf) {
  gguf.decoder();
  gguf.no_window();
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  constexpr const char *kGgufWidth = "expert_feed_forward_length",
                       *kGgufShared = "expert_shared_feed_forward_length";
  gguf.integer("expert_count", kCount);
  gguf.integer("expert_used_count", kUsed);
  gguf.integer(kGgufWidth, kWidth);
  gguf.integer("interleave_moe_layer_step", kInterval);
  if (!fields.copy_integer("leading_dense_block_count", kFirst, config)) config[kFirst] = 0;
  const int64_t one = fields.integer(kGgufWidth).value_or(1);
  const int64_t all = fields.integer(kGgufShared).value_or(0);
  if (one < 1 || all % one != 0)
    return fields.refuse(kGgufShared,
                         fmt::format("a multiple of '{}' {}", fields.key(kGgufWidth), one));
  config[kShared] = all / one;
  fields.comes_from_quotient(kShared, kGgufShared, kGgufWidth);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  const bool is_dense = config.layers[layer].feed_forward == FeedForward::kDense;
  LayerSpecs specs(config, layer, RowPairs::kAll);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  if (!is_dense) {
    specs.router("mlp.gate", "mlp.moe_statics.e_score_correction_bias");
    specs.all().back().shape = {1, config.experts.n_experts};  // the bias
    specs.experts();
  }
  if (is_dense || config.experts.shared_d_ff > 0) {
    const char* module = is_dense ? "mlp" : "mlp.shared_experts";
    specs.gate_and_up(module);
    specs.down(module);
  }
  return specs.take();
}

// In checkpoints what predicts further tokens stands beside the layers.
std::string_view passed_over(const ModelConfig&, std::string_view tensor) {
  return tensor.starts_with("model.mtp_") ? kMultiToken : std::string_view();
}

void set_experts(int n_experts, int n_used, int d_ff, ExpertsConfig& experts) {
  experts.n_experts = n_experts;
  experts.n_used = n_used;
  experts.d_ff = d_ff;
  experts.shared_d_ff = 2 * d_ff;
}

ModelConfig ernie4_5_21b() {
  ModelConfig config = shape_of(kErnie4_5Moe, {.vocab = 103424,
                                               .d_model = 2560,
                                               .n_layers = 28,
                                               .n_heads = 20,
                                               .n_kv_heads = 4,
                                               .d_ff = 12288});
  config.rotations[0].theta = 5e5;
  config.max_positions = 131072;
  config.tied_embeddings = true;
  config.bos_id = 1;
  config.eos_ids = {2};
  set_experts(64, 6, 1536, config.experts);
  set_mixtures(1, config);
  return config;
}

ModelConfig tiny_ernie4_5_moe() {
  ModelConfig config =
      tiny_shape(kErnie4_5Moe, {.n_layers = 4, .head_dim = 24, .d_ff = 152, .tied = false});
  set_experts(8, 3, 20, config.experts);
  config.layers[1].feed_forward = config.layers[3].feed_forward = FeedForward::kExperts;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"ernie-4.5-21b-a3b", ernie4_5_21b()}, {"tiny-ernie4.5-moe", tiny_ernie4_5_moe()}};
}

}  // namespace

const Family kErnie4_5Moe = {.name = "ernie4_5_moe",
                             .architecture = "Ernie4_5_MoeForCausalLM",
                             .gguf_architecture = "ernie4_5-moe",
                             .offers = kOffers,
                             .absent = kAbsent,
                             .fix = fix,
                             .read = read,
                             .write = write,
                             .translate = translate,
                             .layer_weights = layer_weights,
                             .passed_over = passed_over,
                             .shapes = shapes};

}  // namespace pando::model
