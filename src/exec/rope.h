// Rotation factors of the rotary embedding, for every position of the configured context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "contract/model_spec.h"

namespace pando::exec {

// docs/arithmetic.md, "Rotary embedding"; [rotary_dim / 2]. longrope takes its long factors where
// the context exceeds the original one. Sources: RoFormer; Position Interpolation (linear);
// Llama 3.1 (llama3); YaRN, section 3; LongRoPE.
std::vector<double> rope_frequencies(const model::RopeConfig& rope, int rotary_dim, int context);

class RopeTable {
 public:
  // cos and sin of pos * frequency, times the attention factor, in double precision, rounded once.
  RopeTable(const model::RopeConfig& rope, int head_dim, int context);

  int rotary_dim() const { return static_cast<int>(2 * half_); }
  const float* cos(uint32_t pos) const { return cos_.data() + static_cast<size_t>(pos) * half_; }
  const float* sin(uint32_t pos) const { return sin_.data() + static_cast<size_t>(pos) * half_; }

 private:
  size_t half_;
  std::vector<float> cos_, sin_;  // [context, rotary_dim / 2]
};

// The tables of a model's layers. Layers with the same rotation and size of heads share one.
class RopeTables {
 public:
  // context: positions of the longest sequence.
  RopeTables(const model::ModelSpec& spec, int context);

  const RopeTable& of_layer(int layer) const { return tables_[places_[layer]]; }
  const std::vector<RopeTable>& all() const { return tables_; }
  const std::vector<size_t>& places() const { return places_; }  // by layer, in all()

 private:
  std::vector<RopeTable> tables_;
  std::vector<size_t> places_;  // [n_layers]
};

}  // namespace pando::exec
