// Matrix products of the reference forward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"
#include "reference/reference_quantise.h"

namespace pando::reference {

// y = W x for W [n, k], as stored or of a type made from it.
class Matrix {
 public:
  static constexpr int kBlock = 64;

  Matrix() = default;  // no outputs
  // elements: row-major [n, k] f32.
  Matrix(const std::vector<float>& elements, int n, int k, std::optional<DType> made);
  // groups: [n, k / 32] of 32 each.
  Matrix(const std::vector<Quantised>& groups, int n, int k);
  // x: [n_rows, k]; returns [n_rows, n].
  std::vector<float> times(const std::vector<float>& x, int n_rows) const;

 private:
  void add_group(const Quantised& group);
  void times_integers(const float* x, float* y) const;

  int n_ = 0, k_ = 0;
  bool rounds_ = false;            // bf16_dot; the second input of a pair comes first
  std::vector<float> blocks_;      // [ceil(n / 64), k, 64], filled with zeros; empty for integers
  int group_len_ = 0;              // inputs that share a scale: 32, or all for int8
  std::vector<int8_t> quantised_;  // [n, groups, group_len]
  std::vector<float> scales_;      // [n, groups], widened
  std::vector<int> factors_;       // [n, groups, 2] of half groups
  std::vector<float> minima_;      // [n, groups], or empty
};

}  // namespace pando::reference
