// Matrix products with weights: y = x W^T, each output one chain over K (docs/arithmetic.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/packed_matrix.h"

namespace pando::kernel {

// Returns row `row` of the activations, [k] f32. It may be written to `own`, [k].
using RowSource = FunctionRef<const float*(int row, float* own)>;

// Activations [m, k] in the form that products with weights of a type read (cpu/linear_layout.h),
// for integers quantised. Rows may be in groups, each to be multiplied by a matrix of its own.
// Memory is kept between calls; one per engine.
class PackedRows {
 public:
  // Asks the source for each row once, on any of the pool's threads. Work on a row before the
  // product is best done in the source, while the row is in a cache.
  void pack(const Kernels& kernels, ThreadPool& pool, DType weights, int m, int k,
            RowSource source) {
    pack(kernels, pool, weights, {&m, 1}, k, source);
  }
  // group_ends: the row behind each group, ascending.
  void pack(const Kernels& kernels, ThreadPool& pool, DType weights,
            std::span<const int> group_ends, int k, RowSource source);

  // True if rows packed for weights of type `a` equal those for type `b`.
  static bool same_for(DType a, DType b);

  DType weights() const { return weights_; }
  int k() const { return k_; }
  std::span<const int> group_ends() const { return group_ends_; }
  const std::byte* data() const { return data_.data(); }

 private:
  DType weights_ = DType::kF32;
  std::vector<int> group_ends_;
  int k_ = 0;
  AlignedBuffer data_;
  AlignedBuffer own_;  // [threads][k rounded up to sixteen] f32
};

// y[m][i] = sum over k of x[m][k] * w[i][k]; y: [m, n] f32 rows `y_stride` apart.
void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const PackedRows& x,
              float* y, int64_t y_stride);
// Does the same with a matrix for each group of rows, all of one type and shape. A matrix is read
// once for every tile of its rows.
void multiply(const Kernels& kernels, ThreadPool& pool, std::span<const PackedMatrix* const> w,
              const PackedRows& x, float* y, int64_t y_stride);

// Activations of a product, and where it is written; strides count f32 values.
struct LinearArgs {
  const float* x;    // [m, k], rows x_stride apart
  int64_t x_stride;  // at least k
  int m;             // rows
  float* y;          // [m, n], rows y_stride apart
  int64_t y_stride;
};

// Does the same for rows that are not packed yet; `scratch` holds them packed.
void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const LinearArgs& args,
            PackedRows& scratch);

}  // namespace pando::kernel
