#include "bench/cpu/recurrence_work.h"

#include <cmath>
#include <random>

#include "bench/cpu/kernel_peaks.h"
#include "exec/cpu/kernel/cpu/recurrence_args.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::bench {
namespace {

constexpr int64_t kAllHeads = int64_t{RecurrenceWork::kHeads} * RecurrenceWork::kDim;
constexpr int kStateSlices = RecurrenceWork::kDim / kernel::kStateSlice;
constexpr int64_t kSliceFloats = int64_t{RecurrenceWork::kDim} * kernel::kStateSlice;

}  // namespace

RecurrenceWork::RecurrenceWork(int n_sequences, int n_rows)
    : n_sequences_(n_sequences), n_rows_(n_rows) {
  const auto rows = static_cast<size_t>(n_sequences) * static_cast<size_t>(n_rows);
  std::minstd_rand random(3);
  // Keys of about unit length: the rule then keeps states bounded.
  std::uniform_real_distribution<float> uniform(-0.15f, 0.15f), factor(0.5f, 1.0f);
  rows_.resize(rows * 3 * kAllHeads);
  for (float& x : rows_) x = uniform(random);
  factors_.resize(rows * 3 * kHeads);
  for (float& x : factors_) x = factor(random);
  out_.resize(rows * kAllHeads);
  states_ = AlignedBuffer(static_cast<size_t>(bytes()));
  for (size_t i = 0; i < states_.size() / sizeof(float); ++i) states_.as<float>()[i] = 0.1f;
}

double RecurrenceWork::bytes() const {
  return 2.0 * n_sequences_ * kHeads * kDim * kDim * sizeof(float);
}

void RecurrenceWork::run(ThreadPool& pool) {
  const kernel::Kernels& kernels = used_kernels();
  const int64_t of_sequence = kHeads * kStateSlices * kSliceFloats;
  pool.parallel_runs(kHeads * kStateSlices, [&](int64_t item, int) {
    const int64_t head = item / kStateSlices, column = item % kStateSlices * kernel::kStateSlice;
    for (int64_t sequence = 0; sequence < n_sequences_; ++sequence) {
      float* const from = states_.as<float>() + sequence * of_sequence + item * kSliceFloats;
      const int64_t row = sequence * n_rows_;
      const float* const q = &rows_[static_cast<size_t>(row * 3 * kAllHeads + head * kDim)];
      const float* const factors = &factors_[static_cast<size_t>(row * 3 * kHeads + head)];
      kernels.delta_net({.from = from,
                         .to = from + n_sequences_ * of_sequence,
                         .keeps_last = true,
                         .next_from = sequence + 1 < n_sequences_ ? from + of_sequence : nullptr,
                         .key_dim = kDim,
                         .n_columns = kernel::kStateSlice,
                         .n_rows = n_rows_,
                         .k = q + kAllHeads,
                         .q = q,
                         .v = q + 2 * kAllHeads + column,
                         .stride = 3 * kAllHeads,
                         .alpha = factors,
                         .gain = factors + kHeads,
                         .dot = factors + 2 * kHeads,
                         .factor_stride = 3 * kHeads,
                         .skip = 0.0f,
                         .out = &out_[static_cast<size_t>(row * kAllHeads + head * kDim + column)],
                         .out_stride = kAllHeads});
    }
  });
}

}  // namespace pando::bench
