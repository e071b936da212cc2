// Ratio by which steps exceed their predicted time.
#pragma once

#include <algorithm>

namespace pando {

// The ratio of measured to predicted time that one step in twenty exceeds: a budget that somebody's
// next token waits for leaves room for it.
class Margin {
 public:
  double factor() const { return factor_; }  // 1 to 1.5
  // Seconds of a step that was to take `limit` at most, margin and all; one that fills less than
  // half of what it may keeps it anyhow and teaches nothing. In balance one rise makes up for
  // nineteen falls, so that the factor stays where that many steps are above it.
  void observe(double predicted, double measured, double limit) {
    if (predicted * factor_ < limit / 2) return;
    factor_ *= measured > factor_ * predicted ? 1 + kRate * (1 - kAbove) : 1 - kRate * kAbove;
    factor_ = std::clamp(factor_, 1.0, 1.5);
  }

 private:
  static constexpr double kAbove = 0.05, kRate = 0.02;
  double factor_ = 1;
};

}  // namespace pando
