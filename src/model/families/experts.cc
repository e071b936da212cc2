#include "model/families/experts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/gguf.h"
#include "base/json.h"

namespace pando::model {
namespace {

constexpr const char *kCount = "num_experts", *kLocalCount = "num_local_experts";
constexpr const char *kDenseLayers = "mlp_only_layers", *kStep = "decoder_sparse_step",
                     *kRenormalised = "norm_topk_prob";
constexpr const char* kGgufCount = "expert_count";

void read_sizes(Fields& fields, const ExpertFields& usual, ModelConfig& config) {
  const auto integer = [&](const char* name, int64_t min, int64_t max,
                           std::optional<int64_t> fallback = std::nullopt) {
    return static_cast<int>(fields.integer(name, min, max, fallback));
  };
  ExpertsConfig& e = config.experts;
  const int n = integer(kCount, 0, kMaxExperts, usual.n_experts);
  e.n_experts = integer(kLocalCount, 0, kMaxExperts, n);
  if (fields.has(kCount) && e.n_experts != n)
    fields.refuse(kLocalCount, fmt::format("the value of '{}'", kCount));
  if (e.n_experts == 0) return;
  e.n_used =
      integer(usual.used_name, 1, std::min<int64_t>(e.n_experts, kMaxUsedExperts), usual.n_used);
  e.d_ff = integer(usual.d_ff_name, 1, kMaxWidth);
  for (LayerConfig& layer : config.layers) layer.feed_forward = FeedForward::kExperts;
}

void read_dense_layers(Fields& fields, ModelConfig& config) {
  const int64_t step = fields.integer(kStep, 1, kMaxLayers, 1);
  for (int i = 0; i < config.n_layers(); ++i)
    if ((i + 1) % step != 0) config.layers[i].feed_forward = FeedForward::kDense;
  const Json* dense = fields.find(kDenseLayers);
  if (dense == nullptr) return;
  if (!dense->is_array()) return fields.refuse(kDenseLayers, "a list of layers");
  for (const Json& one : *dense) {
    const bool is_layer = one.is_number_integer() && one.get<int64_t>() >= 0 &&
                          one.get<int64_t>() < config.n_layers();
    if (!is_layer)
      return fields.refuse(
          kDenseLayers,
          fmt::format("a list of layers below {}, the number of them", config.n_layers()));
    config.layers[one.get<size_t>()].feed_forward = FeedForward::kDense;
  }
}

void write_dense_layers(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kStep] = 1;
  Json dense = Json::array();
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.experts.n_experts > 0 && config.layers[i].feed_forward == FeedForward::kDense)
      dense.push_back(i);
  object[kDenseLayers] = std::move(dense);
}

}  // namespace

void read_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config) {
  ExpertsConfig& e = config.experts;
  read_sizes(fields, usual, config);
  if (usual.required && e.n_experts == 0) fields.refuse(usual.count_name, "at least 1");
  if (usual.dense_layers) read_dense_layers(fields, config);
  if (usual.shared_name != nullptr && e.n_experts > 0)
    e.shared_d_ff =
        static_cast<int>(fields.integer(usual.shared_name, 0, kMaxWidth, usual.shared_absent));
  e.shared_gate = usual.shared_gate && e.shared_d_ff > 0;
  if (usual.norm_topk_prob)
    e.renormalised = fields.boolean(kRenormalised, usual.norm_topk_prob->absent);
}

void write_experts(const ModelConfig& config, const ExpertFields& usual,
                   nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  object[usual.count_name] = e.n_experts;
  if (e.n_experts > 0) {
    object[usual.used_name] = e.n_used;
    object[usual.d_ff_name] = e.d_ff;
  }
  if (usual.dense_layers) write_dense_layers(config, object);
  if (usual.shared_name != nullptr) object[usual.shared_name] = e.shared_d_ff;
  if (usual.norm_topk_prob) object[kRenormalised] = e.renormalised;
}

void translate_experts(GgufTranslator& gguf, const ExpertFields& usual) {
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  if (!fields.status()) return;
  config[kCount] = fields.integer(kGgufCount).value_or(0);
  fields.comes_from_key(kCount, kGgufCount);
  if (usual.norm_topk_prob) config[kRenormalised] = usual.norm_topk_prob->gguf;
  if (config[kCount] == 0) return;
  gguf.integer("expert_used_count", usual.used_name);
  if (!fields.copy_integer("expert_feed_forward_length", usual.d_ff_name, config))
    gguf.same(usual.d_ff_name, "intermediate_size");
  if (usual.shared_name != nullptr &&
      !fields.copy_integer("expert_shared_feed_forward_length", usual.shared_name, config))
    gguf.same(usual.shared_name, "intermediate_size");
}

bool has_gguf_experts(const GgufFile& gguf, std::string_view architecture) {
  const auto n = gguf.integer(fmt::format("{}.{}", architecture, kGgufCount));
  return n.ok() && n->value_or(0) != 0;
}

void set_mixtures(int n_dense, ModelConfig& config) {
  for (int i = 0; i < config.n_layers(); ++i)
    config.layers[i].feed_forward = i < n_dense ? FeedForward::kDense : FeedForward::kExperts;
}

int n_dense_layers(const ModelConfig& config) {
  const auto first =
      std::ranges::find(config.layers, FeedForward::kExperts, &LayerConfig::feed_forward);
  return static_cast<int>(first - config.layers.begin());
}

void read_shared_experts(Fields& fields, const char* name, ModelConfig& config) {
  const int64_t width = fields.integer(name, 0, kMaxExperts) * config.experts.d_ff;
  if (width > kMaxWidth)
    fields.refuse(name, fmt::format("at most {} inner channels in all", kMaxWidth));
  config.experts.shared_d_ff = static_cast<int>(std::min(width, kMaxWidth));
}

void require_sigmoids(GgufTranslator& gguf) {
  if (gguf.fields().integer(kGatingFunction).value_or(kGgufSigmoid) != kGgufSigmoid)
    gguf.fields().refuse(kGatingFunction, fmt::format("{}, the sigmoid", kGgufSigmoid),
                         ErrorCode::kUnsupported);
}

}  // namespace pando::model
