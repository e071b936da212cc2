// Matrix products with weights: y = x W^T, each output one chain over K (docs/arithmetic.md).
#pragma once

#include <cstdint>

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
  // All-zero weights of `type`: f32, f16, bf16 or q8_0. k must be even.
  PackedMatrix(DType type, int n, int k);

  // Fills rows [first_row, first_row + n_rows) from row-major [n_rows, k] elements of `from_type`
  // (f32, f16, bf16). The matrix's type is from_type or q8_0. Threads may fill different rows at
  // once.
  void set_rows(const Kernels& kernels, int first_row, int n_rows, DType from_type,
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
};

// y[m][i] = sum over k of x[m][k] * w[i][k]; x: [m, k] f32 rows `x_stride` apart,
// y: [m, n] f32 rows `y_stride` apart.
void linear(const Kernels& kernels, ThreadPool& pool, const PackedMatrix& w, const float* x,
            int64_t x_stride, int m, float* y, int64_t y_stride, LinearScratch& scratch);

}  // namespace pando::kernel
