// Mixtures of experts in GGUF files, by the published layout.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gguf_writer.h"
#include "model/checkpoint.h"
#include "model/config.h"
#include "model/gguf_hybrid.h"
#include "model/tensor_rows.h"
#include "model/weight_specs.h"

namespace pando::testing {

inline bool is_of_experts(const model::WeightSpec& spec) { return model::is_of_experts(spec.role); }

// The tensors that a tensor of experts is divided into, unless files fuse them, and their rows of
// each expert.
inline std::vector<std::pair<std::string, int64_t>> expert_parts(const model::ModelConfig& c,
                                                                 const model::WeightSpec& spec,
                                                                 bool fuses = false) {
  const std::string_view name = spec.name;
  const size_t digits = std::string_view("model.layers.").size();
  const std::string root =
      "blk." + std::string(name.substr(digits, name.find('.', digits) - digits));
  const bool is_bias = name.ends_with("_bias");
  const std::string kind = is_bias ? "bias" : "weight";
  if (has_part(name, "down_proj") || has_part(name, "output_linear"))
    return {{root + ".ffn_down_exps." + kind, c.d_model}};
  if (is_family(c, "nemotron_h")) return {{root + ".ffn_up_exps." + kind, c.experts.d_ff}};
  if (fuses) return {{root + ".ffn_gate_up_exps." + kind, 2 * c.experts.d_ff}};
  return {{root + ".ffn_gate_exps." + kind, c.experts.d_ff},
          {root + ".ffn_up_exps." + kind, c.experts.d_ff}};
}

// Rows [first, first + n) of one expert's matrix, [n, inputs], or elements of its vector, in the
// type that a checkpoint has.
inline std::string expert_rows(const model::Checkpoint& checkpoint, const model::WeightSpec& spec,
                               int expert, int64_t first, int64_t n) {
  std::string bytes;
  for (const model::WeightSpec& stored : checkpoint.stored_as(spec)) {
    if (stored.expert >= 0 && stored.expert != expert) continue;
    model::TensorView view =
        checkpoint.tensor(stored.expert < 0 ? stored.of_expert(expert) : stored).value();
    if (view.shape.size() == 1) view.shape.push_back(1);
    model::TensorRows rows(view);
    for (int64_t row = 0; row < view.shape[0]; ++row)
      bytes.append(reinterpret_cast<const char*>(rows[row]), rows.row_bytes());
  }
  const size_t row = bytes.size() / static_cast<size_t>(spec.shape[1]);
  return bytes.substr(static_cast<size_t>(first) * row, static_cast<size_t>(n) * row);
}

inline uint32_t n_dense(const model::ModelConfig& c) {
  return static_cast<uint32_t>(
      std::ranges::count(c.layers, model::FeedForward::kDense, &model::LayerConfig::feed_forward));
}

inline void add_expert_keys(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c);
  const model::ExpertsConfig& e = c.experts;
  if (e.n_experts == 0) return;
  out->uint32(arch + ".expert_count", e.n_experts).uint32(arch + ".expert_used_count", e.n_used);
  const bool is_gemma = is_family(c, "gemma4_text");
  if (is_family(c, "qwen3_moe") || is_family(c, "qwen3_vl_moe_text") || is_family(c, "gpt_oss") ||
      is_family(c, "lfm2_moe") || is_family(c, "ernie4_5_moe") || is_family(c, "qwen2_moe") ||
      is_family(c, "hunyuan_v1_moe") || is_family(c, "minimax_m2") || has_delta_net(c) || is_gemma)
    out->uint32(arch + ".expert_feed_forward_length", e.d_ff);
  if (e.shared_d_ff > 0 && !is_gemma)
    out->uint32(arch + ".expert_shared_feed_forward_length", e.shared_d_ff);
  if (is_family(c, "minimax_m2")) out->uint32(arch + ".expert_gating_func", 2);
  if (is_family(c, "ernie4_5_moe")) {
    std::vector<uint32_t> mixtures;
    for (int i = 0; i < c.n_layers(); ++i)
      if (c.layers[i].feed_forward == model::FeedForward::kExperts) mixtures.push_back(i);
    out->uint32(arch + ".leading_dense_block_count", mixtures.at(0))
        .uint32(arch + ".interleave_moe_layer_step",
                mixtures.size() > 1 ? mixtures[1] - mixtures[0] : 1);
  }
  if (is_family(c, "lfm2_moe"))
    out->uint32(arch + ".leading_dense_block_count", n_dense(c))
        .uint32(arch + ".expert_gating_func", e.scores == model::RouterScores::kSigmoid ? 2 : 1);
}

// Adds keys beside add_expert_keys, for models whose experts are described like DeepSeek's.
inline void add_routed_keys(const model::ModelConfig& c, GgufWriter* out) {
  const std::string arch = gguf_architecture(c) + ".";
  const model::ExpertsConfig& e = c.experts;
  if (e.n_experts == 0) return;
  const bool sigmoid = e.scores == model::RouterScores::kSigmoid;
  out->uint32(arch + "expert_feed_forward_length", e.d_ff)
      .uint32(arch + "expert_shared_count", is_family(c, "nemotron_h") ? 1 : e.shared_d_ff / e.d_ff)
      .uint32(arch + "leading_dense_block_count", n_dense(c))
      .uint32(arch + "expert_group_count", e.n_groups)
      .uint32(arch + "expert_group_used_count", e.n_groups_used)
      .float32(arch + "expert_weights_scale", e.weight_scale)
      .boolean(arch + "expert_weights_norm", e.renormalised)
      .uint32(arch + "expert_gating_func", sigmoid ? 2 : 1);
}

// The width that files call feed_forward_length; 0: they do not say it.
inline int gguf_width(const model::ModelConfig& c) {
  if (is_family(c, "qwen3_5_moe_text")) return 0;
  return is_family(c, "granitemoehybrid") && c.experts.n_experts > 0 ? c.experts.d_ff : c.d_ff;
}

}  // namespace pando::testing
