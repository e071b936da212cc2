// GLM-4.7-Flash: as DeepSeek-V3, in other numbers.
#include <algorithm>

#include "base/errors.h"
#include "model/families/latent.h"
#include "model/families/layer_list.h"
#include "model/families/list.h"
#include "model/families/shapes.h"

namespace pando::model {
namespace {

constexpr const char *kTypes = "mlp_layer_types", *kDense = "first_k_dense_replace";
constexpr const char* kAbsent = R"({
  "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
  "moe_intermediate_size": 1536, "routed_scaling_factor": 1.8, "n_group": 1, "topk_group": 1
})";

// Layers are dense, then sparse. Files say it by a list or by the number of dense ones, or not.
int read_n_dense(Fields& fields, int n_layers) {
  const nlohmann::json* types = fields.find(kTypes);
  int n_dense = 1;
  constexpr std::string_view kWords[] = {"dense", "sparse"};
  if (types != nullptr && is_layer_list(fields, kTypes, n_layers, kWords)) {
    n_dense = static_cast<int>(std::ranges::count(*types, "dense"));
    for (int i = 0; i < n_layers; ++i)
      if (((*types)[i] == "dense") != (i < n_dense))
        fields.fail(unsupported("{}: '{}' has dense layers behind sparse ones, expected none",
                                fields.source(), kTypes));
  }
  if (fields.integer(kDense, 0, kMaxLayers, n_dense) != n_dense)
    fields.refuse(kDense, fmt::format("{}, as '{}' has it", n_dense, kTypes),
                  ErrorCode::kUnsupported);
  return n_dense;
}

void read(Fields& fields, ModelConfig& config) {
  read_latent(fields, {.query_rank = 768, .still_dim = 192, .value_dim = 256, .rms_eps = 1e-5},
              config);
  read_latent_experts(fields, read_n_dense(fields, config.n_layers()), config);
  read_sigmoid_choice(fields, config);
}

void write(const ModelConfig& config, nlohmann::ordered_json& object) {
  write_latent(config, object);
  write_latent_experts(config, object);
  object[kTypes] = nlohmann::json::array();
  for (const LayerConfig& layer : config.layers)
    object[kTypes].push_back(layer.feed_forward == FeedForward::kDense ? "dense" : "sparse");
}

bool owns(const GgufFile& gguf) { return has_sigmoid_router(gguf) && has_glm_tokenizer(gguf); }

void translate(GgufTranslator& gguf) {
  translate_latent(gguf);
  nlohmann::json& config = gguf.config();
  if (!gguf.fields().status()) return;
  const int64_t n_layers = config["num_hidden_layers"], n_dense = config[kDense];
  config[kTypes] = nlohmann::json::array();
  for (int64_t i = 0; i < std::min(n_layers, kMaxLayers); ++i)
    config[kTypes].push_back(i < n_dense ? "dense" : "sparse");
  gguf.fields().comes_from_same(kTypes, kDense);
}

ExpertsConfig experts(int n, int n_used, int d_ff) {
  return {.n_experts = n,
          .n_used = n_used,
          .d_ff = d_ff,
          .shared_d_ff = d_ff,
          .scores = RouterScores::kSigmoid,
          .renormalised = true,
          .weight_scale = 1.8f,
          .choice_bias = true,
          .n_group_best = 2};
}

ModelConfig glm_flash() {
  ModelConfig config = shape_of(kGlm4MoeLite, {.vocab = 154880,
                                               .d_model = 2048,
                                               .n_layers = 47,
                                               .n_heads = 20,
                                               .n_kv_heads = 1,
                                               .d_ff = 10240});
  config.rms_eps = 1e-5f;
  config.rotations[0].theta = 1e6;
  set_latent({.rank = 512, .query_rank = 768, .still_dim = 192, .rope_dim = 64, .value_dim = 256},
             config);
  config.max_positions = 202752;
  config.eos_ids = {154820, 154827, 154829};
  config.experts = experts(64, 4, 1536);
  set_mixtures(1, config);
  return config;
}

ModelConfig tiny_glm_flash() {
  ModelConfig config =
      tiny_shape(kGlm4MoeLite, {.n_layers = 2, .head_dim = 16, .d_ff = 152, .tied = false});
  config.rms_eps = 1e-5f;
  set_latent({.rank = 32, .query_rank = 32, .still_dim = 32, .rope_dim = 16, .value_dim = 24},
             config);
  config.experts = experts(8, 2, 32);
  set_mixtures(1, config);
  return config;
}

std::vector<NamedShape> shapes() {
  return {{"glm-4.7-flash", glm_flash()}, {"tiny-glm-flash", tiny_glm_flash()}};
}

}  // namespace

const Family kGlm4MoeLite = {.name = "glm4_moe_lite",
                             .architecture = "Glm4MoeLiteForCausalLM",
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
