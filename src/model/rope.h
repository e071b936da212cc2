// Rotation factors of the rotary embedding, for every position of the configured context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pando::model {

class RopeTable {
 public:
  // cos and sin of pos * theta^(-2i / head_dim), in double precision, rounded once.
  RopeTable(int max_positions, int head_dim, double theta);

  const float* cos(uint32_t pos) const { return cos_.data() + static_cast<size_t>(pos) * half_; }
  const float* sin(uint32_t pos) const { return sin_.data() + static_cast<size_t>(pos) * half_; }

 private:
  size_t half_;
  std::vector<float> cos_, sin_;  // [max_positions, head_dim / 2]
};

}  // namespace pando::model
