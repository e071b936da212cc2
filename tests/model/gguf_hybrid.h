// Models with recurrent layers in GGUF files, by the published layout: keys, values and order that
// differ from a checkpoint.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gguf_writer.h"
#include "model/config.h"
#include "model/family.h"
#include "model/weight_specs.h"

namespace pando::testing {

inline bool is_family(const model::ModelConfig& c, std::string_view name) {
  return c.family->name == name;
}

// Nemotron-H has another architecture with experts.
inline std::string gguf_architecture(const model::ModelConfig& c) {
  const char* const other = c.family->other_gguf_architecture;
  return other != nullptr && c.experts.n_experts > 0 ? other : c.family->gguf_architecture;
}

inline bool has_part(std::string_view name, std::string_view part) {
  return name.find(part) != name.npos;
}

inline bool is_qwen3_5(const model::ModelConfig& c) {
  return is_family(c, "qwen3_5_text") || is_family(c, "qwen3_5_moe_text");
}

inline bool has_delta_net(const model::ModelConfig& c) {
  return is_qwen3_5(c) || is_family(c, "qwen3_next");
}

// [n, m] runs of `run` bytes as [m, n].
inline std::string turned(std::string_view bytes, size_t n, size_t m, size_t run) {
  std::string out;
  for (size_t j = 0; j < m; ++j)
    for (size_t i = 0; i < n; ++i) out += bytes.substr((i * m + j) * run, run);
  return out;
}

// Qwen3-Next's rows, one key head after another, as all queries, keys, values and z.
inline std::string by_part(const model::ModelConfig& c, const model::WeightSpec& spec,
                           const std::string& bytes) {
  const model::RecurrentConfig& r = c.recurrent;
  const size_t row = bytes.size() / static_cast<size_t>(spec.shape[0]);
  const size_t keys = r.key_dim * row, values = r.value_width() / r.n_key_heads * row;
  const std::pair<size_t, size_t> parts[] = {
      {0, keys}, {keys, keys}, {2 * keys, values}, {2 * keys + values, values}};
  std::string out;
  for (const auto& [first, n] : parts)
    for (size_t head = 0; head < bytes.size(); head += 2 * (keys + values))
      out += bytes.substr(head + first, n);
  return out;
}

// The value heads of Qwen3.5: in a checkpoint those of one key head are neighbours, in a GGUF file
// they are as far apart as there are key heads. `element`: bytes.
inline std::string hybrid_order(const model::ModelConfig& c, const model::WeightSpec& spec,
                                const std::string& bytes, size_t element) {
  const std::string_view name = spec.name;
  if (is_family(c, "qwen3_next") && has_part(name, "in_proj_qkvz")) return by_part(c, spec, bytes);
  if (!is_qwen3_5(c) || !has_part(name, "linear_attn.") || has_part(name, "linear_attn.norm"))
    return bytes;
  const model::RecurrentConfig& r = c.recurrent;
  const size_t n = r.n_key_heads, m = r.n_heads / r.n_key_heads;
  const size_t row = bytes.size() / static_cast<size_t>(spec.shape[0]);
  if (has_part(name, "out_proj")) {
    std::string out;
    for (size_t at = 0; at < bytes.size(); at += row)
      out += turned(bytes.substr(at, row), n, m, r.value_dim * element);
    return out;
  }
  const bool queries = has_part(name, "in_proj_qkv") || has_part(name, "conv1d");
  const size_t first = queries ? 2 * r.key_width() * row : 0;
  const bool wide = queries || has_part(name, "in_proj_z");
  return bytes.substr(0, first) +
         turned(std::string_view(bytes).substr(first), n, m, (wide ? r.value_dim : 1) * row);
}

// A weight of a checkpoint, as a GGUF file has it.
inline std::vector<float> hybrid_values(const model::ModelConfig& c, const model::WeightSpec& spec,
                                        std::vector<float> values) {
  const std::string_view name = spec.name;
  const bool one_less = (has_delta_net(c) || is_family(c, "nemotron") || is_family(c, "gemma") ||
                         is_family(c, "gemma2") || is_family(c, "gemma3_text")) &&
                        name.ends_with("norm.weight") && !has_part(name, "linear_attn.norm");
  for (float& x : values)
    if (one_less)
      x = 1.0f + x;
    else if (name.ends_with("A_log"))
      x = static_cast<float>(-std::exp(static_cast<double>(x)));
  const std::string bytes(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  const std::string ordered = hybrid_order(c, spec, bytes, 4);
  std::memcpy(values.data(), ordered.data(), ordered.size());
  return values;
}

// The shape that a file has: no size of 1 in convolutions, one more for Mamba2's vectors and for
// norms with weights for each head.
inline std::vector<int64_t> hybrid_shape(const model::ModelConfig& c,
                                         const model::WeightSpec& spec) {
  std::vector<int64_t> shape = spec.shape;
  if (shape.size() > 1) std::erase(shape, 1);
  if (spec.name.ends_with("mamba.A_log") || spec.name.ends_with("mixer.A_log") ||
      spec.name.ends_with(".D"))
    shape.push_back(1);
  const int64_t groups = c.recurrent.n_key_heads;
  if (has_part(spec.name, "mamba.norm") || has_part(spec.name, "mixer.norm"))
    return {groups, shape[0] / groups};
  if (is_family(c, "cohere") && (has_part(spec.name, "q_norm") || has_part(spec.name, "k_norm")))
    return {shape[0] / c.head_dim, c.head_dim};
  return shape;
}

// The tensors that a checkpoint's one is divided into, and their rows; none for most.
inline std::vector<std::pair<std::string, int64_t>> divided(const model::ModelConfig& c,
                                                            const model::WeightSpec& spec) {
  if (has_part(spec.name, "shared_mlp.input_linear")) {
    const bool is_shared = c.experts.n_experts > 0;
    return {{is_shared ? "ffn_gate_shexp.weight" : "ffn_gate.weight", spec.shape[0] / 2},
            {is_shared ? "ffn_up_shexp.weight" : "ffn_up.weight", spec.shape[0] / 2}};
  }
  const int64_t values = c.recurrent.value_width();
  if (has_part(spec.name, "in_proj_qkvz"))
    return {{"attn_qkv.weight", spec.shape[0] - values}, {"attn_gate.weight", values}};
  return {};
}

inline void add_hybrid_keys(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c);
  const model::RecurrentConfig& r = c.recurrent;
  std::vector<uint32_t> kv_heads;
  for (const model::LayerConfig& layer : c.layers)
    kv_heads.push_back(layer.mixer == model::Mixer::kAttention ? c.n_kv_heads : 0);
  if (!has_delta_net(c))
    out->numbers(arch + ".attention.head_count_kv", GgufType::kUint32, kv_heads);
  if (is_family(c, "lfm2") || is_family(c, "lfm2_moe")) {
    out->uint32(arch + ".shortconv.l_cache", r.conv_taps);
    return;
  }
  out->uint32(arch + ".ssm.conv_kernel", r.conv_taps)
      .uint32(arch + ".ssm.state_size", r.key_dim)
      .uint32(arch + ".ssm.group_count", r.n_key_heads)
      .uint32(arch + ".ssm.time_step_rank", r.n_heads)
      .uint32(arch + ".ssm.inner_size", r.value_width());
  if (is_family(c, "granitemoehybrid")) {
    out->boolean(arch + ".rope.scaling.finetuned", c.rotations[0].rotary_share > 0)
        .float32(arch + ".embedding_scale", c.embedding_scale)
        .float32(arch + ".residual_scale", c.residual_scale)
        .float32(arch + ".attention.scale", c.attention_scale)
        .float32(arch + ".logit_scale", c.logit_divisor);
    return;
  }
  if (is_family(c, "nemotron_h")) {
    std::vector<uint32_t> widths;
    for (const model::LayerConfig& layer : c.layers)
      widths.push_back(layer.feed_forward == model::FeedForward::kDense     ? c.d_ff
                       : layer.feed_forward == model::FeedForward::kExperts ? c.experts.d_ff
                                                                            : 0);
    out->numbers(arch + ".feed_forward_length", GgufType::kUint32, widths);
    return;
  }
  std::vector<uint8_t> recurrent;
  for (const uint32_t heads : kv_heads) recurrent.push_back(heads == 0);
  out->uint32(arch + ".attention.head_count_kv", c.n_kv_heads)
      .numbers(arch + ".attention.recurrent_layers", GgufType::kBool, recurrent);
  if (is_qwen3_5(c))
    out->numbers(arch + ".rope.dimension_sections", GgufType::kInt32,
                 std::vector<int32_t>{11, 11, 10, 0});
}

}  // namespace pando::testing
