#include "model/families/routed_experts.h"

#include <algorithm>

#include "base/errors.h"
#include "base/json.h"
#include "model/families/experts.h"
#include "model/weight_specs.h"

namespace pando::model {

constexpr const char* kDense = "first_k_dense_replace";

void read_routed_experts(Fields& fields, int n_dense, ModelConfig& config) {
  set_mixtures(n_dense, config);
  if (!config.has(FeedForward::kExperts)) return;
  if (fields.integer("moe_layer_freq", 1, kMaxLayers, 1) != 1)
    fields.refuse("moe_layer_freq", "1", ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.n_experts = static_cast<int>(fields.integer("n_routed_experts", 1, kMaxExperts));
  e.n_used = static_cast<int>(fields.integer("num_experts_per_tok", 1, kMaxUsedExperts));
  e.d_ff = static_cast<int>(fields.integer("moe_intermediate_size", 1, kMaxWidth));
  read_shared_experts(fields, "n_shared_experts", config);
  e.weight_scale = static_cast<float>(fields.positive("routed_scaling_factor"));
}

void read_sigmoid_choice(Fields& fields, ModelConfig& config) {
  if (!config.has(FeedForward::kExperts)) return;
  // dots.llm1 has the same word for both.
  for (const auto& [name, only] :
       {std::pair{"topk_method", "noaux_tc"}, {"scoring_func", "sigmoid"}})
    if (const std::string found = fields.string(name, only); found != only && found != "noaux_tc")
      fields.refuse(name, fmt::format("\"{}\"", only), ErrorCode::kUnsupported);
  ExpertsConfig& e = config.experts;
  e.scores = RouterScores::kSigmoid;
  e.choice_bias = true;
  e.renormalised = fields.boolean("norm_topk_prob", true);
  e.n_groups = static_cast<int>(fields.integer("n_group", 1, kMaxExperts));
  e.n_groups_used = static_cast<int>(fields.integer("topk_group", 1, kMaxExperts));
  e.n_group_best = 2;
}

void read_routed(Fields& fields, const RoutedFields& usual, ModelConfig& config) {
  read_routed_experts(fields, static_cast<int>(fields.integer(kDense, 0, kMaxLayers)), config);
  if (usual.sigmoids) read_sigmoid_choice(fields, config);
}

void write_routed_experts(const ModelConfig& config, nlohmann::ordered_json& object) {
  const ExpertsConfig& e = config.experts;
  object[kDense] = n_dense_layers(config);
  if (e.n_experts == 0) return;
  object["n_routed_experts"] = e.n_experts;
  object["num_experts_per_tok"] = e.n_used;
  object["moe_intermediate_size"] = e.d_ff;
  object["n_shared_experts"] = e.shared_d_ff / e.d_ff;
  object["routed_scaling_factor"] = Json::parse(fmt::format("{}", e.weight_scale));
  object["norm_topk_prob"] = e.renormalised;
  object["n_group"] = e.n_groups;
  object["topk_group"] = e.n_groups_used;
}

void translate_routed(GgufTranslator& gguf, const RoutedFields& usual) {
  if (usual.multi_token) gguf.multi_token_blocks();
  GgufFields& fields = gguf.fields();
  Json& config = gguf.config();
  if (!fields.status()) return;
  if (usual.says_sigmoids) require_sigmoids(gguf);
  if (fields.integer("expert_count").value_or(0) == 0) {
    config[kDense] = config["num_hidden_layers"];
    fields.comes_from_same(kDense, "num_hidden_layers");
    return;
  }
  gguf.integer("expert_count", "n_routed_experts");
  gguf.integer("expert_used_count", "num_experts_per_tok");
  gguf.integer("expert_feed_forward_length", "moe_intermediate_size");
  const struct {
    const char *name, *field;
    int64_t otherwise;
  } counts[] = {{"leading_dense_block_count", kDense, 0},
                {"expert_shared_count", "n_shared_experts", 0},
                {"expert_group_count", "n_group", 1},
                {"expert_group_used_count", "topk_group", 1}};
  for (const auto& [name, field, otherwise] : counts)
    if (!fields.copy_integer(name, field, config)) config[field] = otherwise;
  constexpr const char* kScale = "expert_weights_scale";
  fields.comes_from_key("routed_scaling_factor", kScale);
  const double scale = fields.finite(kScale).value_or(0.0);
  config["routed_scaling_factor"] = scale == 0.0 ? 1.0 : scale;  // 0: none
  fields.comes_from_key("norm_topk_prob", "expert_weights_norm");
  config["norm_topk_prob"] = fields.boolean("expert_weights_norm").value_or(false);
}

std::string_view multi_token_layer(const ModelConfig& config, std::string_view tensor) {
  const bool is_behind = block_of(tensor) >= config.n_layers() ||
                         tensor.starts_with(layer_weight_name(config.n_layers(), ""));
  return is_behind ? kMultiToken : std::string_view();
}

}  // namespace pando::model
