// DeepSeek-V2 and V2-Lite: latent attention; mixtures of experts, chosen by a softmax, behind the
// first layers.
#include "model/families/latent.h"
#include "model/families/list.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr const char *kDense = "first_k_dense_replace", *kMethod = "topk_method",
                     *kGrouped = "group_limited_greedy";

constexpr const char* kAbsent = R"({
  "n_routed_experts": 64, "n_shared_experts": 2, "moe_intermediate_size": 1407,
  "routed_scaling_factor": 1.0
})";

void read_choice(Fields& fields, ExpertsConfig& experts) {
  const std::string method = fields.string(kMethod, "greedy");
  if (method != "greedy" && method != kGrouped)
    fields.refuse(kMethod, "greedy or group_limited_greedy", ErrorCode::kUnsupported);
  if (fields.string("scoring_func", "softmax") != "softmax")
    fields.refuse("scoring_func", "\"softmax\"", ErrorCode::kUnsupported);
  if (fields.boolean("norm_topk_prob", false))
    fields.refuse("norm_topk_prob", "false", ErrorCode::kUnsupported);
  if (method != kGrouped) return;
  experts.n_groups = static_cast<int>(fields.integer("n_group", 1, kMaxExperts));
  experts.n_groups_used = static_cast<int>(fields.integer("topk_group", 1, kMaxExperts));
}

void read(Fields& fields, ModelConfig& config) {
  read_latent(fields, {}, config);
  read_latent_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers, 0)), config);
  if (config.has(FeedForward::kExperts)) read_choice(fields, config.experts);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_latent(config, object);
  write_latent_experts(config, object);
  object[kDense] = n_dense_layers(config);
  object[kMethod] = config.experts.n_groups > 1 ? kGrouped : "greedy";
}

bool owns(const GgufFile& gguf) { return !has_sigmoid_router(gguf); }

void translate(GgufTranslator& gguf) {
  translate_latent(gguf);
  if (gguf.config().value("n_group", 1) > 1) gguf.config()[kMethod] = kGrouped;
}

ModelConfig deepseek_v2_lite() {
  ModelConfig config = shape_of(kDeepSeekV2, {.vocab = 102400,
                                              .d_model = 2048,
                                              .n_layers = 27,
                                              .n_heads = 16,
                                              .n_kv_heads = 1,
                                              .d_ff = 10944});
  config.rms_eps = 1e-6f;
  RopeConfig& rope = config.rotations[0];
  rope.type = RopeType::kYarn;
  rope.factor = 40.0;
  rope.original_positions = 4096;
  rope.score_mscale = 0.707;
  set_latent({.rank = 512, .still_dim = 128, .rope_dim = 64, .value_dim = 128}, config);
  config.max_positions = 163840;
  config.bos_id = 100000;
  config.eos_ids = {100001};
  config.experts = {.n_experts = 64, .n_used = 6, .d_ff = 1408, .shared_d_ff = 2816};
  set_mixtures(1, config);
  return config;
}

ModelConfig tiny_deepseek_v2() {
  ModelConfig config =
      tiny_shape(kDeepSeekV2, {.n_layers = 2, .head_dim = 16, .d_ff = 144, .tied = false});
  RopeConfig& rope = config.rotations[0];
  rope.type = RopeType::kYarn;
  rope.factor = 4.0;
  rope.original_positions = 32;
  rope.score_mscale = 0.707;
  set_latent({.rank = 28, .still_dim = 12, .rope_dim = 8, .value_dim = 20}, config);
  config.experts = {.n_experts = 6,
                    .n_used = 2,
                    .d_ff = 40,
                    .shared_d_ff = 80,
                    .n_groups = 3,
                    .n_groups_used = 2};
  set_mixtures(1, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"deepseek-v2-lite", deepseek_v2_lite()}, {"tiny-deepseek-v2", tiny_deepseek_v2()}};
}

}  // namespace

const Family kDeepSeekV2 = {.name = "deepseek_v2",
                            .architecture = "DeepseekV2ForCausalLM",
                            .gguf_architecture = "deepseek2",
                            .offers = kLatentFields,
                            .absent = kAbsent,
                            .read = read,
                            .write = write,
                            .owns = owns,
                            .translate = translate,
                            .layer_weights = latent_layer,
                            .passed_over = latent_passed_over,
                            .shapes = shapes};

}  // namespace pando::model
