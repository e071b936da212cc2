// Matrix products with weights: y = x W^T, each output one chain over K (docs/arithmetic.md).
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "kernel/kernels.h"

namespace pando::kernel {

// Weights of a linear layer, [n, k], repacked for the kernels (cpu/linear_layout.h).
// Built once, then read by any thread.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // All-zero weights of `type`, one that is packed (kernel/weight_types.h). k must be even, of
  // types that are only read from blocks whole blocks, and for int8 at most max_inputs(type).
  PackedMatrix(DType type, int n, int k);
  static int max_inputs(DType type);

  // Fills rows [first_row, first_row + n_rows) from row-major [n_rows, k] elements of `from_type`.
  // That becomes the matrix's type, and nothing is rounded, or the matrix is of a type that can be
  // made, and rows of another type are rounded. `from_type` is any but int8 and bf16_dot; of a
  // type in blocks (kernel/blocks.h) k must be whole blocks. Threads may fill different rows at
  // once. False: a weight that was to be rounded is not finite, or too large for the matrix's type.
  bool set_rows(const Kernels& kernels, int first_row, int n_rows, DType from_type,
                const void* from);

  DType type() const { return type_; }
  int n() const { return n_; }
  int k() const { return k_; }
  size_t bytes() const { return data_.size(); }
  const std::byte* data() const { return data_.data(); }

 private:
  DType type_ = DType::kF32;
  int n_ = 0;
  int k_ = 0;
  AlignedBuffer data_;
};

// Where row `row` of some activations lies, [k] f32. `own`: [k], which it may be written to.
using RowSource = FunctionRef<const float*(int row, float* own)>;

// Activations [m, k] in the form that products with weights of a type read (cpu/linear_layout.h),
// for integers quantised. Memory is kept between calls; one per engine.
class PackedRows {
 public:
  // Asks the source for each row once, rows of one call on any of the pool's threads: what has to
  // be done to a row before the product is best done there, while the row is in a cache.
  void pack(const Kernels& kernels, ThreadPool& pool, DType weights, int m, int k,
            RowSource source);

  // Whether rows packed for weights of type `a` are those for type `b`.
  static bool same_for(DType a, DType b);

  DType weights() const { return weights_; }
  int m() const { return m_; }
  int k() const { return k_; }
  const std::byte* data() const { return data_.data(); }

 private:
  DType weights_ = DType::kF32;
  int m_ = 0;
  int k_ = 0;
  AlignedBuffer data_;
  AlignedBuffer own_;  // [threads][k rounded up to sixteen] f32
};

// y[m][i] = sum over k of x[m][k] * w[i][k]; y: [m, n] f32 rows `y_stride` apart.
void multiply(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const PackedRows& x,
              float* y, int64_t y_stride);

// The same of x: [m, k] f32 rows `x_stride` apart.
void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
            int64_t x_stride, int m, float* y, int64_t y_stride, PackedRows& scratch);

}  // namespace pando::kernel
