// The residual stream of a step: x, and the summand that each row of x has still to take.
#pragma once

#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "contract/model_spec.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::exec {

// A row takes its summand only when it is read: one pass over the row then adds and norms, while
// the row is in the processor's cache. Between two calls of add() each row is read once. Several
// threads may read different rows.
class ResidualStream {
 public:
  ResidualStream(const kernel::Kernels& kernels, const model::ModelSpec& spec)
      : kernels_(kernels),
        d_model_(spec.d_model),
        norm_of_(spec.norm == model::Norm::kRms ? kernels.rms_norm : kernels.layer_norm),
        eps_(spec.rms_eps),
        scale_(spec.residual_scale),
        post_norm_(spec.post_norm) {}

  // Starts a step: room for n_rows rows, nothing to add.
  void begin(uint32_t n_rows);
  // Row `row` as it lies, [d_model] f32, for writing.
  float* row(uint32_t row) { return x_.as<float>() + size_t{row} * d_model_; }

  // x += scale (y + bias), or with a norm x += scale norm(y + bias), where y is in sums(), [n_rows,
  // d_model] f32; in models whose norms follow the sums, x = norm(x + scale (y + bias)). scale: on
  // all summands. bias: [d_model] or empty; norm: as for `read`. Both live until the next call.
  // factor: multiplies x after that.
  void add(std::span<const float> bias, std::span<const float> norm, float factor = 1.0f);
  float* sums() { return sums_.as<float>(); }
  // Call when every row was read: from now on reading adds nothing.
  void end_add() { pending_ = false; }

  // Adds the row's summand and returns the row, [d_model] f32. norm: [d_model], [2 d_model]
  // with a bias behind it, or empty. With a norm the normed row goes to `own`, [d_model] f32, which
  // is returned. n_rows: number of rows
  // that are read, for Fault::kScalarTailRow.
  const float* read(uint32_t row, std::span<const float> norm, uint32_t n_rows, float* own);
  // y = norm(x), with its bias if it has one; y = x if it is empty. y may be x. Any thread.
  void norm(std::span<const float> norm, const float* x, float* y) const;

 private:
  const float* settle(uint32_t row);

  const kernel::Kernels& kernels_;
  int d_model_;
  decltype(kernel::Kernels::rms_norm) norm_of_;
  float eps_;
  float scale_;
  bool post_norm_;
  AlignedBuffer x_, sums_;  // [n_rows, d_model] f32
  bool pending_ = false;
  std::span<const float> bias_, norm_;
  float factor_ = 1.0f;
};

}  // namespace pando::exec
