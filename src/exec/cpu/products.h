// The matrix products of a forward pass.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "exec/executor.h"
#include "kernel/linear.h"

namespace pando::exec {

// Owns the packed activations. One for each executor, used by its thread.
class Products {
 public:
  // Adds what products take to `times`.
  Products(const kernel::Kernels& kernels, ThreadPool& pool, PhaseTimes& times)
      : kernels_(kernels), pool_(pool), times_(times) {}

  // y = x w^T of the rows that `source` yields. w: matrices of the same inputs, their outputs one
  // behind the other; y: [n_rows, outputs of all] f32.
  void multiply(std::span<const kernel::PackedMatrix> w, uint32_t n_rows, kernel::RowSource source,
                float* y);
  void multiply(const kernel::PackedMatrix& w, uint32_t n_rows, kernel::RowSource source,
                float* y) {
    multiply({&w, 1}, n_rows, source, y);
  }

 private:
  // Fault::kSplitSumOverK, of the rows in unpacked_.
  void multiply_halves(const kernel::PackedMatrix& w, int m, float* y, int64_t y_stride);

  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  PhaseTimes& times_;
  kernel::PackedRows packed_;
  AlignedBuffer unpacked_;  // [n_rows, inputs] f32, where one packing does not serve all matrices
};

}  // namespace pando::exec
