#include "model/families/experts.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/gguf.h"

namespace pando::model {
namespace {

constexpr const char *kCount = "num_experts", *kLocalCount = "num_local_experts",
                     *kUsed = "num_experts_per_tok";
constexpr const char *kDenseLayers = "mlp_only_layers", *kStep = "decoder_sparse_step";
constexpr const char* kGgufCount = "expert_count";

}  // namespace

void read_experts(Fields& fields, const ExpertFields& usual, ModelConfig& config) {
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
  e.n_used = integer(kUsed, 1, kMaxUsedExperts, usual.n_used);
  e.d_ff = integer(usual.d_ff_name, 1, kMaxWidth);
  for (LayerConfig& layer : config.layers) layer.feed_forward = FeedForward::kExperts;
}

void read_dense_layers(Fields& fields, ModelConfig& config) {
  const int64_t step = fields.integer(kStep, 1, kMaxLayers, 1);
  for (int i = 0; i < config.n_layers(); ++i)
    if ((i + 1) % step != 0) config.layers[i].feed_forward = FeedForward::kDense;
  const nlohmann::json* dense = fields.find(kDenseLayers);
  if (dense == nullptr) return;
  if (!dense->is_array()) return fields.refuse(kDenseLayers, "a list of layers");
  for (const nlohmann::json& one : *dense) {
    const bool is_layer = one.is_number_integer() && one.get<int64_t>() >= 0 &&
                          one.get<int64_t>() < config.n_layers();
    if (!is_layer)
      return fields.refuse(
          kDenseLayers,
          fmt::format("a list of layers below {}, the number of them", config.n_layers()));
    config.layers[one.get<size_t>()].feed_forward = FeedForward::kDense;
  }
}

void read_shared_expert(Fields& fields, const char* name, int absent, ModelConfig& config) {
  if (config.experts.n_experts > 0)
    config.experts.shared_d_ff = static_cast<int>(fields.integer(name, 0, kMaxWidth, absent));
}

void write_experts(const ModelConfig& config, const ExpertFields& usual,
                   nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  object[usual.count_name] = e.n_experts;
  if (e.n_experts == 0) return;
  object[kUsed] = e.n_used;
  object[usual.d_ff_name] = e.d_ff;
}

void write_dense_layers(const ModelConfig& config, nlohmann::ordered_json& object) {
  object[kStep] = 1;
  nlohmann::json dense = nlohmann::json::array();
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.experts.n_experts > 0 && config.layers[i].feed_forward == FeedForward::kDense)
      dense.push_back(i);
  object[kDenseLayers] = std::move(dense);
}

bool has_gguf_experts(const GgufFile& gguf, std::string_view architecture) {
  const auto n = gguf.integer(fmt::format("{}.{}", architecture, kGgufCount));
  return n.ok() && n->value_or(0) != 0;
}

void translate_experts(GgufTranslator& gguf, const char* d_ff_name) {
  GgufFields& fields = gguf.fields();
  nlohmann::json& config = gguf.config();
  if (!fields.status()) return;
  config[kCount] = fields.integer(kGgufCount).value_or(0);
  fields.comes_from_key(kCount, kGgufCount);
  if (config[kCount] == 0) return;
  gguf.integer("expert_used_count", kUsed);
  if (!fields.copy_integer("expert_feed_forward_length", d_ff_name, config))
    gguf.same(d_ff_name, "intermediate_size");
}

void translate_shared_expert(GgufTranslator& gguf, const char* name) {
  gguf.integer("expert_shared_feed_forward_length", name);
}

}  // namespace pando::model
