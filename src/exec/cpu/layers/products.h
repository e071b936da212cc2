// The matrix products of a forward pass.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "exec/cpu/kernel/linear.h"

namespace pando::exec {

// Owns the packed activations. One for each executor, used by its thread.
class Products {
 public:
  // Adds the time of products to `times`.
  Products(const kernel::Kernels& kernels, ThreadPool& pool, PhaseTimes& times)
      : kernels_(kernels), pool_(pool), times_(times) {}

  // y = x w^T, where `source` yields the rows of x. w: matrices with the same inputs, whose outputs
  // stand one after another in y: [n_rows, outputs of all matrices] f32. y_stride: values between
  // rows of y, where there are more.
  void multiply(std::span<const kernel::PackedMatrix> w, uint32_t n_rows, kernel::RowSource source,
                float* y, int64_t y_stride = 0) {
    const int end = static_cast<int>(n_rows);
    multiply({&w, 1}, {&end, 1}, source, y, y_stride);
  }
  void multiply(const kernel::PackedMatrix& w, uint32_t n_rows, kernel::RowSource source,
                float* y) {
    multiply(std::span(&w, 1), n_rows, source, y);
  }
  // Does the same for rows in groups: w has the matrices of each group, which have the types and
  // sizes of the first one's. group_ends: the row behind each group, ascending.
  void multiply(std::span<const std::span<const kernel::PackedMatrix>> w,
                std::span<const int> group_ends, kernel::RowSource source, float* y,
                int64_t y_stride = 0);

 private:
  // For Fault::kSplitSumOverK: multiplies the rows in unpacked_ as two halves of K.
  void multiply_halves(const kernel::PackedMatrix& w, int m, float* y, int64_t y_stride);

  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  PhaseTimes& times_;
  kernel::PackedRows packed_;
  std::vector<const kernel::PackedMatrix*> matrices_;  // one for each group
  AlignedBuffer unpacked_;  // [n_rows, inputs] f32, where one packing does not serve all matrices
};

}  // namespace pando::exec
