// DeepSeek-V3: as DeepSeek-V2, with experts that are chosen by sigmoids.
#include "model/families/latent.h"
#include "model/families/list.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr const char* kDense = "first_k_dense_replace";
constexpr const char* kAbsent = R"({
  "first_k_dense_replace": 3, "n_routed_experts": 256, "n_shared_experts": 1,
  "num_experts_per_tok": 8, "moe_intermediate_size": 2048, "routed_scaling_factor": 2.5,
  "n_group": 8, "topk_group": 4
})";

void read(Fields& fields, ModelConfig& config) {
  read_latent(fields, {}, config);
  read_latent_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers)), config);
  read_sigmoid_choice(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_latent(config, object);
  write_latent_experts(config, object);
  object[kDense] = n_dense_layers(config);
}

bool owns(const GgufFile& gguf) { return has_sigmoid_router(gguf) && !has_glm_tokenizer(gguf); }

ModelConfig deepseek_v3() {
  ModelConfig config = shape_of(kDeepSeekV3, {.vocab = 129280,
                                              .d_model = 7168,
                                              .n_layers = 61,
                                              .n_heads = 128,
                                              .n_kv_heads = 1,
                                              .d_ff = 18432});
  config.rms_eps = 1e-6f;
  RopeConfig& rope = config.rotations[0];
  rope.type = RopeType::kYarn;
  rope.factor = 40.0;
  rope.original_positions = 4096;
  rope.score_mscale = 1.0;
  set_latent({.rank = 512, .query_rank = 1536, .still_dim = 128, .rope_dim = 64, .value_dim = 128},
             config);
  config.max_positions = 163840;
  config.bos_id = 0;
  config.eos_ids = {1};
  config.experts = {.n_experts = 256,
                    .n_used = 8,
                    .d_ff = 2048,
                    .shared_d_ff = 2048,
                    .scores = RouterScores::kSigmoid,
                    .renormalised = true,
                    .weight_scale = 2.5f,
                    .choice_bias = true,
                    .n_groups = 8,
                    .n_groups_used = 4,
                    .n_group_best = 2};
  set_mixtures(3, config);
  return config;
}

ModelConfig tiny_deepseek_v3() {
  ModelConfig config =
      tiny_shape(kDeepSeekV3, {.n_layers = 2, .head_dim = 16, .d_ff = 136, .tied = false});
  set_latent({.rank = 36, .query_rank = 44, .still_dim = 20, .rope_dim = 12, .value_dim = 8},
             config);
  config.experts = {.n_experts = 8,
                    .n_used = 3,
                    .d_ff = 24,
                    .shared_d_ff = 24,
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
  return {{"deepseek-v3", deepseek_v3()}, {"tiny-deepseek-v3", tiny_deepseek_v3()}};
}

}  // namespace

const Family kDeepSeekV3 = {.name = "deepseek_v3",
                            .architecture = "DeepseekV3ForCausalLM",
                            .gguf_architecture = "deepseek2",
                            .offers = kLatentFields,
                            .absent = kAbsent,
                            .read = read,
                            .write = write,
                            .owns = owns,
                            .translate = translate_latent,
                            .layer_weights = latent_layer,
                            .passed_over = latent_passed_over,
                            .shapes = shapes};

}  // namespace pando::model
