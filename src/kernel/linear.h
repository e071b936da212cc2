// Matrix products with weights: y = x W^T, each output one chain over K (docs/arithmetic.md).
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/dtype.h"
#include "base/thread_pool.h"
#include "kernel/kernels.h"

namespace pando::kernel {

// Weights of a linear layer, [n, k], repacked for the kernels (cpu/linear_layout.h).
// Built once, then read by any thread.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // All-zero weights of `type`: any but q6_K. k must be even, for q4_K whole blocks, and for int8
  // at most max_inputs(type).
  PackedMatrix(DType type, int n, int k);
  static int max_inputs(DType type);

  // Fills rows [first_row, first_row + n_rows) from row-major [n_rows, k] elements of `from_type`.
  // The matrix's type is from_type, and nothing is rounded, or q8_0, q4_0, int8 or bf16_dot, and
  // rows of another type are rounded. `from_type` is any but int8 and bf16_dot; of a type in blocks
  // (kernel/blocks.h) k must be whole blocks. Threads may fill different rows at once. False: a
  // weight that was to be rounded is not finite, or too large for the matrix's type.
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

// Memory that `linear` reuses between calls (packed activations); one per engine.
struct LinearScratch {
  AlignedBuffer activations;
  std::vector<float> amax;  // [m] of the rows, for int8
};

// y[m][i] = sum over k of x[m][k] * w[i][k]; x: [m, k] f32 rows `x_stride` apart,
// y: [m, n] f32 rows `y_stride` apart.
void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
            int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch);

}  // namespace pando::kernel
