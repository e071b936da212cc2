#include "model/families/layer_specs.h"

#include <fmt/format.h>

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
  if (pairs_ == RowPairs::kAll && n > 0)
    spec.rows = spec.gguf_rows = RowOrder::pairs(heads_.head_dim, n);
}

WeightSpec& LayerSpecs::norm(const char* name, const char* gguf_name,
                             std::vector<float> LayerWeights::*part) {
  return add(fmt::format("{}.weight", name).c_str(), fmt::format("{}.weight", gguf_name).c_str(),
             {config_.d_model}, part);
}

std::string LayerSpecs::gguf_name(const char* name) const {
  return fmt::format("blk.{}.{}", layer_, name);
}

void LayerSpecs::queries_keys_values() {
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
    const std::string own = fmt::format("self_attn.{}_proj", name);
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
  add(fmt::format("{}.weight", q_name).c_str(), "attn_q_norm.weight", {config_.q_norm_dim(heads_)},
      &LayerWeights::q_norm);
  if (!has_keys()) return;
  add(fmt::format("{}.weight", k_name).c_str(), "attn_k_norm.weight", {config_.k_norm_dim(heads_)},
      &LayerWeights::k_norm);
}

void LayerSpecs::output(const char* name) {
  add(fmt::format("{}.weight", name).c_str(), "attn_output.weight",
      {config_.d_model, heads_.q_dim()}, &LayerWeights::o);
  if (config_.o_bias)
    add("self_attn.o_proj.bias", "attn_output.bias", {config_.d_model}, &LayerWeights::o_bias);
}

void LayerSpecs::gate_and_up() {
  const int d_ff = config_.d_ff_of(layer_);
  add("mlp.gate_proj.weight", "ffn_gate.weight", {d_ff, config_.d_model}, &LayerWeights::gate_up);
  add("mlp.up_proj.weight", "ffn_up.weight", {d_ff, config_.d_model}, &LayerWeights::gate_up);
}

void LayerSpecs::gate_up(const char* name) {
  add(name, "", {2 * config_.d_ff, config_.d_model}, &LayerWeights::gate_up).gguf_parts = {
      {gguf_name("ffn_gate.weight"), config_.d_ff}, {gguf_name("ffn_up.weight"), config_.d_ff}};
}

void LayerSpecs::fused_gate_up() {
  add("mlp.gate_up_proj.weight", "ffn_up.weight", {2 * config_.d_ff, config_.d_model},
      &LayerWeights::gate_up);
}

void LayerSpecs::down() {
  add("mlp.down_proj.weight", "ffn_down.weight", {config_.d_model, config_.d_ff_of(layer_)},
      &LayerWeights::down);
}

std::vector<WeightSpec> usual_layer(const ModelConfig& config, int layer, RowPairs pairs) {
  LayerSpecs specs(config, layer, pairs);
  specs.norm("input_layernorm", "attn_norm", &LayerWeights::attention_norm);
  specs.queries_keys_values();
  specs.query_key_norms();
  specs.output();
  specs.norm("post_attention_layernorm", "ffn_norm", &LayerWeights::feed_forward_norm);
  specs.gate_and_up();
  specs.down();
  return specs.take();
}

}  // namespace pando::model
