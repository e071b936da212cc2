// HunYuan with a mixture of experts and a shared expert in every layer, all of one width.
#include "base/errors.h"
#include "base/json.h"
#include "model/families/experts.h"
#include "model/families/hunyuan.h"
#include "model/families/layer_list.h"
#include "model/families/list.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr const char *kCount = "num_experts", *kUsed = "moe_topk",
                     *kUsedToo = "num_experts_per_tok", *kWidth = "moe_intermediate_size",
                     *kShared = "num_shared_expert";

void fix(ModelConfig& config) {
  fix_hunyuan(config);
  config.experts.renormalised = true;
}

// A number, or a list that has it for each layer.
int of_all_layers(Fields& fields, const char* name, int64_t most, int fallback, int n_layers) {
  const nlohmann::json* value = fields.find(name);
  if (value == nullptr || !value->is_array())
    return static_cast<int>(fields.integer(name, 1, most, fallback));
  if (std::ssize(*value) != n_layers) {
    fields.refuse(name, fmt::format("a number, or a list of one for each of {} layers", n_layers));
    return fallback;
  }
  const nlohmann::json first = {{place_in(name, 0), value->front()}};
  Fields element(first, fields.source());
  const int64_t n = element.integer(place_in(name, 0), 1, most);
  fields.fail(element.status());
  for (size_t i = 1; i < value->size(); ++i)
    if ((*value)[i] != n) refuse_entry(fields, name, i, fmt::format("{}, as in layer 0", n));
  return static_cast<int>(n);
}

void read(Fields& fields, ModelConfig& config) {
  read_hunyuan(fields, config);
  for (const auto& [name, only] : {std::pair{"use_mixed_mlp_moe", true},
                                   {"norm_topk_prob", true},
                                   {"use_mla", false},
                                   {"group_limited_greedy", false}})
    if (fields.boolean(name, only) != only)
      fields.refuse(name, only ? "true" : "false", ErrorCode::kUnsupported);
  if (fields.integer("moe_layer_num_skipped", 0, kMaxLayers, 0) != 0)
    fields.refuse("moe_layer_num_skipped", "0", ErrorCode::kUnsupported);
  const int n_layers = config.n_layers();
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer(kCount, 1, kMaxExperts, 1));
  e.n_used =
      of_all_layers(fields, fields.has(kUsed) ? kUsed : kUsedToo, kMaxUsedExperts, 1, n_layers);
  e.d_ff = e.shared_d_ff = config.d_ff;
  if (of_all_layers(fields, kWidth, kMaxWidth, config.d_ff, n_layers) != config.d_ff)
    fields.refuse(kWidth, fmt::format("'intermediate_size' {}", config.d_ff),
                  ErrorCode::kUnsupported);
  if (of_all_layers(fields, kShared, kMaxExperts, 1, n_layers) != 1)
    fields.refuse(kShared, "1", ErrorCode::kUnsupported);
  set_mixtures(0, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kCount] = config.experts.n_experts;
  object[kUsed] = config.experts.n_used;
}

void translate(GgufTranslator& gguf) {
  translate_hunyuan(gguf);
  translate_experts(gguf);
  constexpr const char* kSharedWidth = "expert_shared_feed_forward_length";
  const int64_t d_ff = gguf.config().value("intermediate_size", int64_t{0});
  if (gguf.fields().integer(kSharedWidth).value_or(d_ff) != d_ff)
    gguf.fields().refuse(kSharedWidth, fmt::format("'feed_forward_length' {}", d_ff),
                         ErrorCode::kUnsupported);
}

std::vector<WeightSpec> layer_weights(const ModelConfig& config, int layer) {
  LayerSpecs specs = hunyuan_mixer(config, layer);
  specs.router("mlp.gate.wg");
  specs.experts();
  specs.gate_and_up("mlp.shared_mlp");
  specs.down("mlp.shared_mlp");
  return specs.take();
}

ModelConfig hunyuan_a13b() {
  ModelConfig config = shape_of(kHunYuanMoe, {.vocab = 128167,
                                              .d_model = 4096,
                                              .n_layers = 32,
                                              .n_heads = 32,
                                              .n_kv_heads = 8,
                                              .d_ff = 3072});
  config.rotations[0].theta = stretched_theta(1e4, 1000, config.head_dim);
  config.max_positions = 32768;
  config.tied_embeddings = true;
  config.eos_ids = {127960};
  set_experts(config, 64, 8, 3072);
  config.experts.shared_d_ff = 3072;
  return config;
}

ModelConfig tiny_hunyuan_moe() {
  ModelConfig config =
      tiny_shape(kHunYuanMoe, {.n_layers = 2, .head_dim = 16, .d_ff = 44, .tied = false});
  set_experts(config, 8, 3, 44);
  config.experts.shared_d_ff = 44;
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"hunyuan-a13b", hunyuan_a13b()}, {"tiny-hunyuan-moe", tiny_hunyuan_moe()}};
}

}  // namespace

const Family kHunYuanMoe = {.name = "hunyuan_v1_moe",
                            .architecture = "HunYuanMoEV1ForCausalLM",
                            .gguf_architecture = "hunyuan-moe",
                            .offers = kExpertOffers,
                            .fix = fix,
                            .read = read,
                            .write = write,
                            .translate = translate,
                            .layer_weights = layer_weights,
                            .shapes = shapes};

}  // namespace pando::model
