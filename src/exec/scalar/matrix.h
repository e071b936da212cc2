// Matrix products: docs/arithmetic.md, "Matrix products".
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/thread_pool.h"
#include "exec/scalar/rows.h"

namespace pando::exec::scalar {

// The type of a matrix that is kept as a file of this type holds it: q8_0 for types whose integers
// are not multiplied as they are.
DType kept_type(DType stored);

// n values as integers with one scale.
struct Integers {
  std::vector<int8_t> q;  // [n]
  float scale = 0.0f;
};
Integers quantise(const float* x, int n);

// W of n rows (outputs) and k columns (inputs), in rows. Any thread may read.
class Matrix {
 public:
  Matrix(DType type, int n, int k);

  // Fills a row from weights of a file, which keep their values or are rounded to the matrix's
  // type. False if one of these is not finite or too large for it.
  bool set_row(int row, DType stored, const std::byte* from);

  DType type() const { return type_; }
  int n() const { return n_; }
  int k() const { return k_; }
  size_t bytes() const;

  // y = W x for every row. Outputs go to columns [first, first + n) of y.
  void multiply(const Rows& x, ThreadPool& pool, Rows& y, size_t first) const;

  // The weights; a type has either values or integers with scales. Shapes as below.
  std::span<const float> values() const { return values_; }
  std::span<const int8_t> integers() const { return q_; }
  std::span<const float> scales() const { return scales_; }
  std::span<const float> minima() const { return minima_; }
  std::span<const float> factors() const { return factors_; }

 private:
  bool set_values(int row, const float* from);
  bool set_integers(int row, const float* from);
  void set_blocks(int row, DType stored, const std::byte* from);

  struct Inputs;  // a row of x as products read it
  Inputs inputs_of(const float* x) const;
  float product(int row, const Inputs& x) const;
  float product_of_groups(int row, const Inputs& x) const;

  DType type_;
  int n_, k_;
  int group_len_;               // inputs that share a scale: 32, or all for int8; 0: no integers
  int n_groups_;                // of a row
  std::vector<float> values_;   // [n, k] f32, or none for integers
  std::vector<int8_t> q_;       // [n, n_groups, group_len], filled with zeros
  std::vector<float> scales_;   // [n, n_groups]
  std::vector<float> minima_;   // [n, n_groups], or none
  std::vector<float> factors_;  // [n, n_groups, 2] of the halves of a group, or none
};

// Matrices with the same inputs, whose outputs stand one after another.
using Stack = std::vector<Matrix>;

// [x.n, outputs of all matrices].
Rows multiply(std::span<const Matrix> stack, const Rows& x, ThreadPool& pool);
inline Rows multiply(const Matrix& matrix, const Rows& x, ThreadPool& pool) {
  return multiply(std::span(&matrix, 1), x, pool);
}

}  // namespace pando::exec::scalar
