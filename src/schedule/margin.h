// Ratio by which steps exceed their predicted time.
#pragma once

#include <algorithm>

namespace pando {

// The ratio of measured to predicted time that one step in twenty exceeds. Budgets are divided by
// it if decodes wait for the step.
class Margin {
 public:
  double factor() const { return factor_; }  // 1 to 1.5
  // Learns from a step that was allowed `limit` seconds, margin included. A step that fills less
  // than half of the limit teaches nothing. In balance one rise makes up for nineteen falls, so
  // that the factor settles where one step in twenty exceeds it.
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
