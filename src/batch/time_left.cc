#include "batch/time_left.h"

#include <algorithm>
#include <cmath>

namespace pando {
namespace {

constexpr double kReachedIn = 5;  // seconds: the distance to a new estimate falls to 1/e

}  // namespace

void RowSeconds::update(double seconds, uint64_t prefill_rows, uint64_t decode_rows) {
  if (prefill_rows == n_prefill_ && decode_rows == n_decode_) return;  // within a step
  const auto p = static_cast<double>(prefill_rows - n_prefill_),
             d = static_cast<double>(decode_rows - n_decode_);
  const double t = seconds - seconds_;
  pp_ += p * p;
  pd_ += p * d;
  dd_ += d * d;
  pt_ += p * t;
  dt_ += d * t;
  seconds_ = seconds;
  n_prefill_ = prefill_rows;
  n_decode_ = decode_rows;
  fit();
}

// Least squares. The two are alike where the updates do not tell them apart.
void RowSeconds::fit() {
  const double alike = 1e-3 * std::min(pp_, dd_);  // weight of the square of their difference
  const double pp = pp_ + alike, dd = dd_ + alike, pd = pd_ - alike;
  const double determinant = pp * dd - pd * pd;
  prefill_ = (dd * pt_ - pd * dt_) / determinant;
  decode_ = (pp * dt_ - pd * pt_) / determinant;
  const bool is_sound = determinant > 0 && prefill_ >= 0 && decode_ >= 0;
  if (!is_sound) prefill_ = decode_ = (pt_ + dt_) / (pp_ + 2 * pd_ + dd_);
}

std::optional<double> TimeLeft::update(const BatchProgress& now, const SubmittedWork& submitted) {
  const EngineStats& e = now.stats;
  row_seconds_.update(now.seconds, e.prefill_rows, e.decode_rows);
  const double share = submitted.share_of_input - now.share_earlier;
  const bool has_scale = now.stopping || share > 0;
  if (e.prefill_rows + e.decode_rows == 0 || !has_scale || submitted.answers == 0)
    return std::nullopt;
  // Tokens of all answers for each that has ended: those that end first are the short ones.
  const auto n_answers = static_cast<double>(submitted.answers),
             n_decoded = static_cast<double>(e.decode_rows);
  const double most_each = static_cast<double>(submitted.most_tokens) / n_answers;
  const double tokens_each =
      submitted.answered > 0
          ? std::min(most_each, n_decoded / static_cast<double>(submitted.answered))
          : most_each;
  const double scale = now.stopping ? 1 : (1 - now.share_earlier) / share;
  // About as many tokens were new in prompts that were taken back as in others.
  const double kept = n_answers / (n_answers + static_cast<double>(submitted.taken_back));
  const double n_new = kept * static_cast<double>(e.arrived_tokens - e.arrived_shared);
  const double prefill_left = n_new * scale - static_cast<double>(e.prefill_rows);
  const double decode_left = n_answers * tokens_each * scale - n_decoded;
  const double estimate = std::max(0.0, prefill_left) * row_seconds_.prefill() +
                          std::max(0.0, decode_left) * row_seconds_.decode();
  if (!shown_ || now.stopping != stopping_) {
    shown_ = estimate;
  } else {
    const double passed = now.seconds - shown_at_;
    const double before = std::max(0.0, *shown_ - passed);
    shown_ = estimate + (before - estimate) * std::exp(-passed / kReachedIn);
  }
  shown_at_ = now.seconds;
  stopping_ = now.stopping;
  return shown_;
}

}  // namespace pando
