#include "base/errors.h"
#include "model/config.h"

namespace pando::model {

std::string layer_weight_name(int layer, std::string_view part) {
  return fmt::format("model.layers.{}.{}", layer, part);
}

std::vector<WeightSpec> weight_specs(const ModelConfig& c) {
  std::vector<WeightSpec> specs;
  specs.push_back({"model.embed_tokens.weight", {c.vocab, c.d_model}});
  for (int layer = 0; layer < c.n_layers; ++layer) {
    const auto add = [&](std::string_view part, std::vector<int64_t> shape) {
      specs.push_back({layer_weight_name(layer, part), std::move(shape)});
    };
    if (!c.post_norm) add("input_layernorm.weight", {c.d_model});
    if (c.fused_projections) {
      add("self_attn.qkv_proj.weight", {c.q_dim() + 2 * c.kv_dim(), c.d_model});
    } else {
      const std::pair<const char*, int> parts[] = {
          {"q", c.q_dim()}, {"k", c.kv_dim()}, {"v", c.kv_dim()}};
      for (const auto& [part, n] : parts) {
        add(fmt::format("self_attn.{}_proj.weight", part), {n, c.d_model});
        if (c.qkv_bias) add(fmt::format("self_attn.{}_proj.bias", part), {n});
      }
    }
    if (c.qk_norm != QkNorm::kNone) {
      add("self_attn.q_norm.weight", {c.q_norm_dim()});
      add("self_attn.k_norm.weight", {c.k_norm_dim()});
    }
    add("self_attn.o_proj.weight", {c.d_model, c.q_dim()});
    if (c.o_bias) add("self_attn.o_proj.bias", {c.d_model});
    add("post_attention_layernorm.weight", {c.d_model});
    if (c.fused_projections) {
      add("mlp.gate_up_proj.weight", {2 * c.d_ff, c.d_model});
    } else {
      add("mlp.gate_proj.weight", {c.d_ff, c.d_model});
      add("mlp.up_proj.weight", {c.d_ff, c.d_model});
    }
    add("mlp.down_proj.weight", {c.d_model, c.d_ff});
    if (c.post_norm) add("post_feedforward_layernorm.weight", {c.d_model});
  }
  specs.push_back({"model.norm.weight", {c.d_model}});
  if (!c.tied_embeddings) specs.push_back({"lm_head.weight", {c.vocab, c.d_model}});
  return specs;
}

}  // namespace pando::model
