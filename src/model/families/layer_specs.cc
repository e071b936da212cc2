#include "model/families/layer_specs.h"

#include <fmt/format.h>

#include <span>

namespace pando::model {

WeightSpec& LayerSpecs::add(const char* name, const char* gguf_name, std::vector<int64_t> shape,
                            Role role) {
  specs_.push_back({.name = layer_weight_name(layer_, name),
                    .shape = std::move(shape),
                    .gguf_name = this->gguf_name(gguf_name),
                    .role = role});
  return specs_.back();
}

void LayerSpecs::pair_rows(WeightSpec& spec) const {
  const RopeConfig& rope = config_.rotations[config_.layers[layer_].rotation];
  const int n = rope.rotary_dim(heads_.head_dim);
  if (names_.pairs == RowPairs::kGguf) spec.gguf_rows = RowOrder::pairs(heads_.head_dim);
  const bool in_checkpoint =
      names_.pairs == RowPairs::kCheckpoint || names_.pairs == RowPairs::kAll;
  if (in_checkpoint && n > 0) spec.rows = RowOrder::pairs(heads_.head_dim, n);
  if (names_.pairs == RowPairs::kAll) spec.gguf_rows = spec.rows;
}

void LayerSpecs::norm(const char* name, const char* gguf_name, Role role) {
  const auto add_one = [&](const char* kind) {
    add(fmt::format("{}.{}", name, kind).c_str(), fmt::format("{}.{}", gguf_name, kind).c_str(),
        {config_.d_model}, role);
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
                             {n, config_.d_model}, Role::kQkv);
    if (turns) pair_rows(weight);
    if (!config_.qkv_bias) continue;
    WeightSpec& bias = add((own + ".bias").c_str(), (gguf + ".bias").c_str(), {n}, Role::kQkvBias);
    if (turns) pair_rows(bias);
  }
}

void LayerSpecs::fused_queries_keys_values() {
  const int64_t n = heads_.q_dim() + 2 * heads_.kv_dim(), head_dim = heads_.head_dim;
  const std::string name = names_.qkv;
  RowOrder rows;
  if (names_.qkv_by_head) rows = {0, heads_.n, {head_dim, head_dim, head_dim}};
  add((name + ".weight").c_str(), "attn_qkv.weight", {n, config_.d_model}, Role::kQkv).rows = rows;
  if (config_.qkv_bias)
    add((name + ".bias").c_str(), "attn_qkv.bias", {n}, Role::kQkvBias).rows = rows;
}

void LayerSpecs::query_key_norms() {
  if (config_.qk_norm == QkNorm::kNone) return;
  const auto add_one = [&](const char* name, const char* gguf_name, int n, Role role) {
    WeightSpec& spec = add(fmt::format("{}.weight", name).c_str(), gguf_name, {n}, role);
    if (config_.qk_norm != QkNorm::kLayerPerHead) return;
    spec.stored_shape = spec.gguf_shape = {n / heads_.head_dim, heads_.head_dim};
    pair_rows(spec);
  };
  add_one(names_.q_norm, "attn_q_norm.weight", config_.q_norm_dim(heads_), Role::kQNorm);
  if (has_keys())
    add_one(names_.k_norm, "attn_k_norm.weight", config_.k_norm_dim(heads_), Role::kKNorm);
}

void LayerSpecs::output(const char* name) {
  add(fmt::format("{}.weight", name).c_str(), "attn_output.weight",
      {config_.d_model, heads_.q_dim()}, Role::kO);
  if (config_.o_bias)
    add(fmt::format("{}.bias", name).c_str(), "attn_output.bias", {config_.d_model}, Role::kOBias);
}

void LayerSpecs::attention() {
  names_.qkv != nullptr ? fused_queries_keys_values() : queries_keys_values();
  query_key_norms();
  if (config_.attention_sinks)
    add("self_attn.sinks", "attn_sinks.weight", {heads_.n}, Role::kSinks);
  output(names_.output);
}

std::string LayerSpecs::feed_forward_gguf(const char* part) const {
  return fmt::format("ffn_{}{}.weight", part, is_mixture() ? "_shexp" : "");
}

void LayerSpecs::gate_and_up(const char* module) {
  constexpr const char* kParts[] = {"gate", "up"};
  for (const char* part : std::span(kParts).last(config_.n_inner()))
    add(fmt::format("{}.{}_proj.weight", module, part).c_str(), feed_forward_gguf(part).c_str(),
        {d_ff(), config_.d_model}, Role::kGateUp);
}

void LayerSpecs::gate_up(const char* name) {
  WeightSpec& spec = add(name, "", {2 * d_ff(), config_.d_model}, Role::kGateUp);
  spec.gguf_name.clear();
  for (const char* part : {"gate", "up"})
    spec.gguf_parts.push_back({gguf_name(feed_forward_gguf(part).c_str()), d_ff()});
}

void LayerSpecs::down(const char* module) {
  add(fmt::format("{}.down_proj.weight", module).c_str(), feed_forward_gguf("down").c_str(),
      {config_.d_model, d_ff()}, Role::kDown);
}

void LayerSpecs::up_and_down() {
  const int64_t n = config_.d_ff_of(layer_), d_model = config_.d_model;
  const auto add_both = [&](const std::string& name, const std::string& gguf, int64_t rows,
                            int64_t columns, Role weight, Role bias) {
    add((name + ".weight").c_str(), (gguf + ".weight").c_str(), {rows, columns}, weight);
    if (config_.feed_forward_bias)
      add((name + ".bias").c_str(), (gguf + ".bias").c_str(), {rows}, bias);
  };
  add_both(names_.up, "ffn_up", n, d_model, Role::kGateUp, Role::kGateUpBias);
  add_both(names_.down, "ffn_down", d_model, n, Role::kDown, Role::kDownBias);
}

void LayerSpecs::feed_forward() {
  if (is_mixture()) {
    router();
    experts(names_.experts);
    if (config_.experts.shared_d_ff == 0) return;
  } else if (names_.up != nullptr) {
    return up_and_down();
  }
  const char* module = is_mixture() ? names_.shared : "mlp";
  if (names_.fused_gate_up)
    add("mlp.gate_up_proj.weight", "ffn_up.weight", {2 * d_ff(), config_.d_model}, Role::kGateUp);
  else
    gate_and_up(module);
  down(module);
  if (is_mixture() && config_.experts.shared_gate)
    add(fmt::format("{}_gate.weight", module).c_str(), "ffn_gate_inp_shexp.weight",
        {1, config_.d_model}, Role::kSharedGate);
}

void LayerSpecs::router() {
  const ExpertsConfig& e = config_.experts;
  add(fmt::format("{}.weight", names_.router).c_str(), "ffn_gate_inp.weight",
      {e.n_experts, config_.d_model}, Role::kRouter);
  if (e.router_bias)
    add(fmt::format("{}.bias", names_.router).c_str(), "ffn_gate_inp.bias", {e.n_experts},
        Role::kRouterBias);
  if (e.choice_bias) add(names_.choice_bias, "exp_probs_b.bias", {e.n_experts}, Role::kChoiceBias);
}

void LayerSpecs::experts(const ExpertNames& names) {
  const ExpertsConfig& e = config_.experts;
  const auto of_one = [&](const char* part) {
    return layer_weight_name(layer_, fmt::format("{}.{{}}.{}.weight", names.module, part));
  };
  WeightSpec& in = add(names.gate_up, "ffn_gate_up_exps.weight",
                       {e.n_experts, 2 * e.d_ff, config_.d_model}, Role::kExpertGateUp);
  in.gguf_parts = {{gguf_name("ffn_gate_exps.weight"), e.d_ff},
                   {gguf_name("ffn_up_exps.weight"), e.d_ff}};
  if (names.module != nullptr)
    in.expert_parts = {{of_one(names.gate), e.d_ff}, {of_one(names.up), e.d_ff}};
  if (e.biases) {
    WeightSpec& bias = add(fmt::format("{}_bias", names.gate_up).c_str(), "ffn_gate_up_exps.bias",
                           {e.n_experts, 2 * e.d_ff}, Role::kExpertGateUpBias);
    bias.gguf_parts = {{gguf_name("ffn_gate_exps.bias"), e.d_ff},
                       {gguf_name("ffn_up_exps.bias"), e.d_ff}};
  }
  WeightSpec& out = add(names.down, "ffn_down_exps.weight", {e.n_experts, config_.d_model, e.d_ff},
                        Role::kExpertDown);
  if (names.module != nullptr) out.expert_parts = {{of_one(names.down_of_one), config_.d_model}};
  if (e.biases)
    add(fmt::format("{}_bias", names.down).c_str(), "ffn_down_exps.bias",
        {e.n_experts, config_.d_model}, Role::kExpertDownBias);
}

std::vector<WeightSpec> usual_layer(const ModelConfig& config, int layer) {
  const Family& family = *config.family;
  const LayerNames& names = family.layer;
  LayerSpecs specs(config, layer);
  const auto norm = [&](const char* name, const char* gguf_name, Role role) {
    if (name != nullptr) specs.norm(name, gguf_name, role);
  };
  norm(names.attention_norm, "attn_norm", Role::kAttentionNorm);
  if (family.add_mixer == nullptr || !family.add_mixer(specs, config, layer)) specs.attention();
  norm(names.attention_sum_norm, names.gguf_attention_sum_norm, Role::kAttentionSumNorm);
  norm(names.feed_forward_norm, names.gguf_feed_forward_norm, Role::kFeedForwardNorm);
  if (family.add_feed_forward != nullptr)
    family.add_feed_forward(specs, config, layer);
  else
    specs.feed_forward();
  norm(names.feed_forward_sum_norm, names.gguf_feed_forward_sum_norm, Role::kFeedForwardSumNorm);
  for (WeightSpec& spec : specs.all())
    if (spec.name.ends_with("norm.weight") && spec.role != Role::kStateNorm)
      spec.stored = names.norms;
  return specs.take();
}

}  // namespace pando::model
