#include "model/families/layer_specs.h"

#include <fmt/format.h>

#include <span>

namespace pando::model {

WeightSpec& LayerSpecs::add(const char* name, const char* gguf_name, std::vector<int64_t> shape,
                            LayerPart part) {
  specs_.push_back({.name = layer_weight_name(layer_, name),
                    .shape = std::move(shape),
                    .gguf_name = this->gguf_name(gguf_name),
                    .part = part});
  return specs_.back();
}

void LayerSpecs::pair_rows(WeightSpec& spec) const {
  const RopeConfig& rope = config_.rotations[config_.layers[layer_].rotation];
  const int n = rope.rotary_dim(heads_.head_dim);
  if (pairs_ == RowPairs::kGguf) spec.gguf_rows = RowOrder::pairs(heads_.head_dim);
  const bool in_checkpoint = pairs_ == RowPairs::kCheckpoint || pairs_ == RowPairs::kAll;
  if (in_checkpoint && n > 0) spec.rows = RowOrder::pairs(heads_.head_dim, n);
  if (pairs_ == RowPairs::kAll) spec.gguf_rows = spec.rows;
}

void LayerSpecs::norm(const char* name, const char* gguf_name,
                      std::vector<float> LayerWeights::*part) {
  const auto add_one = [&](const char* kind) {
    add(fmt::format("{}.{}", name, kind).c_str(), fmt::format("{}.{}", gguf_name, kind).c_str(),
        {config_.d_model}, part);
  };
  add_one("weight");
  if (config_.norm_bias) add_one("bias");
}

std::string LayerSpecs::gguf_name(const char* name) const {
  return fmt::format("blk.{}.{}", layer_, name);
}

void LayerSpecs::queries_keys_values(const char* module) {
  const struct {
    char name;
    int n;
    bool turns;  // by the rotary embedding
    bool is_own;
  } parts[] = {
      {'q', heads_.q_dim(), true, true},
      {'k', heads_.kv_dim(), true, has_keys()},
      {'v', heads_.kv_dim(), false, has_keys() && !config_.layers[layer_].values_are_keys}};
  for (const auto& [name, n, turns, is_own] : parts) {
    if (!is_own) continue;
    const std::string own = fmt::format("{}.{}_proj", module, name);
    const std::string gguf = fmt::format("attn_{}", name);
    WeightSpec& weight = add((own + ".weight").c_str(), (gguf + ".weight").c_str(),
                             {n, config_.d_model}, &LayerWeights::qkv);
    if (turns) pair_rows(weight);
    if (!config_.qkv_bias) continue;
    WeightSpec& bias =
        add((own + ".bias").c_str(), (gguf + ".bias").c_str(), {n}, &LayerWeights::qkv_bias);
    if (turns) pair_rows(bias);
  }
}

void LayerSpecs::query_key_norms(const char* q_name, const char* k_name) {
  if (config_.qk_norm == QkNorm::kNone) return;
  const auto add_one = [&](const char* name, const char* gguf_name, int n, LayerPart part) {
    WeightSpec& spec = add(fmt::format("{}.weight", name).c_str(), gguf_name, {n}, part);
    if (config_.qk_norm != QkNorm::kLayerPerHead) return;
    spec.stored_shape = spec.gguf_shape = {n / heads_.head_dim, heads_.head_dim};
    pair_rows(spec);
  };
  add_one(q_name, "attn_q_norm.weight", config_.q_norm_dim(heads_), &LayerWeights::q_norm);
  if (has_keys())
    add_one(k_name, "attn_k_norm.weight", config_.k_norm_dim(heads_), &LayerWeights::k_norm);
}

void LayerSpecs::output(const char* name) {
  add(fmt::format("{}.weight", name).c_str(), "attn_output.weight",
      {config_.d_model, heads_.q_dim()}, &LayerWeights::o);
  if (config_.o_bias)
    add(fmt::format("{}.bias", name).c_str(), "attn_output.bias", {config_.d_model},
        &LayerWeights::o_bias);
}

std::string LayerSpecs::feed_forward_gguf(const char* part) const {
  return fmt::format("ffn_{}{}.weight", part, is_mixture() ? "_shexp" : "");
}

void LayerSpecs::gate_and_up(const char* module) {
  constexpr const char* kParts[] = {"gate", "up"};
  for (const char* part : std::span(kParts).last(config_.n_inner()))
    add(fmt::format("{}.{}_proj.weight", module, part).c_str(), feed_forward_gguf(part).c_str(),
        {d_ff(), config_.d_model}, &LayerWeights::gate_up);
}

void LayerSpecs::gate_up(const char* name) {
  WeightSpec& spec = add(name, "", {2 * d_ff(), config_.d_model}, &LayerWeights::gate_up);
  spec.gguf_name.clear();
  for (const char* part : {"gate", "up"})
    spec.gguf_parts.push_back({gguf_name(feed_forward_gguf(part).c_str()), d_ff()});
}

void LayerSpecs::fused_gate_up() {
  add("mlp.gate_up_proj.weight", "ffn_up.weight", {2 * config_.d_ff, config_.d_model},
      &LayerWeights::gate_up);
}

void LayerSpecs::down(const char* module) {
  add(fmt::format("{}.down_proj.weight", module).c_str(), feed_forward_gguf("down").c_str(),
      {config_.d_model, d_ff()}, &LayerWeights::down);
}

void LayerSpecs::up_and_down(const std::string& up, const std::string& down) {
  const int64_t n = config_.d_ff_of(layer_), d_model = config_.d_model;
  const bool has_bias = config_.feed_forward_bias;
  add((up + ".weight").c_str(), "ffn_up.weight", {n, d_model}, &LayerWeights::gate_up);
  if (has_bias) add((up + ".bias").c_str(), "ffn_up.bias", {n}, &LayerWeights::gate_up_bias);
  add((down + ".weight").c_str(), "ffn_down.weight", {d_model, n}, &LayerWeights::down);
  if (has_bias) add((down + ".bias").c_str(), "ffn_down.bias", {d_model}, &LayerWeights::down_bias);
}

void LayerSpecs::feed_forward() {
  if (!is_mixture()) {
    gate_and_up();
    down();
    return;
  }
  router();
  experts();
}

void LayerSpecs::feed_forward_and_shared() {
  feed_forward();
  if (!is_mixture() || config_.experts.shared_d_ff == 0) return;
  constexpr const char* kShared = "mlp.shared_expert";
  gate_and_up(kShared);
  down(kShared);
  shared_gate();
}

void LayerSpecs::router(const char* name, const char* choice_bias) {
  const ExpertsConfig& e = config_.experts;
  add(fmt::format("{}.weight", name).c_str(), "ffn_gate_inp.weight", {e.n_experts, config_.d_model},
      &LayerWeights::router);
  if (e.router_bias)
    add(fmt::format("{}.bias", name).c_str(), "ffn_gate_inp.bias", {e.n_experts},
        &LayerWeights::router_bias);
  if (e.choice_bias)
    add(choice_bias, "exp_probs_b.bias", {e.n_experts}, &LayerWeights::choice_bias);
}

void LayerSpecs::experts(const ExpertNames& names) {
  const ExpertsConfig& e = config_.experts;
  const auto of_one = [&](const char* part) {
    return layer_weight_name(layer_, fmt::format("{}.{{}}.{}.weight", names.module, part));
  };
  WeightSpec& in = add(names.gate_up, "ffn_gate_up_exps.weight",
                       {e.n_experts, 2 * e.d_ff, config_.d_model}, &ExpertWeights::gate_up);
  in.gguf_parts = {{gguf_name("ffn_gate_exps.weight"), e.d_ff},
                   {gguf_name("ffn_up_exps.weight"), e.d_ff}};
  if (names.module != nullptr)
    in.expert_parts = {{of_one(names.gate), e.d_ff}, {of_one(names.up), e.d_ff}};
  if (e.biases) {
    WeightSpec& bias = add(fmt::format("{}_bias", names.gate_up).c_str(), "ffn_gate_up_exps.bias",
                           {e.n_experts, 2 * e.d_ff}, &ExpertWeights::gate_up_bias);
    bias.gguf_parts = {{gguf_name("ffn_gate_exps.bias"), e.d_ff},
                       {gguf_name("ffn_up_exps.bias"), e.d_ff}};
  }
  WeightSpec& out = add(names.down, "ffn_down_exps.weight", {e.n_experts, config_.d_model, e.d_ff},
                        &ExpertWeights::down);
  if (names.module != nullptr) out.expert_parts = {{of_one(names.down_of_one), config_.d_model}};
  if (e.biases)
    add(fmt::format("{}_bias", names.down).c_str(), "ffn_down_exps.bias",
        {e.n_experts, config_.d_model}, &ExpertWeights::down_bias);
}

void LayerSpecs::shared_gate(const char* name) {
  add(fmt::format("{}.weight", name).c_str(), "ffn_gate_inp_shexp.weight", {1, config_.d_model},
      &LayerWeights::shared_gate);
}

std::vector<WeightSpec> usual_layer(const ModelConfig& config, int layer, RowPairs pairs) {
  LayerSpecs specs(config, layer, pairs);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.feed_forward();
  return specs.take();
}

}  // namespace pando::model
