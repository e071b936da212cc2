// docs/arithmetic.md, "Rotary embedding": the scaled frequencies, formula by formula.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/reference_forward.h"

namespace pando::reference {

std::vector<double> frequencies(const model::RopeConfig& rope, int head_dim, int context) {
  const bool in_proportion = rope.type == model::RopeType::kProportional;
  const int n = in_proportion ? head_dim : static_cast<int>(head_dim * rope.rotary_share);
  const double original = rope.original_positions, two_pi = 2.0 * std::numbers::pi;
  std::vector<double> result;
  for (int i = 0; i < n / 2; ++i) {
    const double f = std::pow(rope.theta, -2.0 * i / n), slow = f / rope.factor;
    if (rope.type == model::RopeType::kDefault) {
      result.push_back(f);
    } else if (in_proportion) {
      const bool turns = i < static_cast<int>(std::floor(rope.rotary_share * head_dim / 2.0));
      result.push_back(turns ? slow : 0.0);
    } else if (rope.type == model::RopeType::kLinear) {
      result.push_back(slow);
    } else if (rope.type == model::RopeType::kLlama3) {
      const double wave = two_pi / f;
      const double keep =
          (original / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
      result.push_back(wave < original / rope.high_freq_factor  ? f
                       : wave > original / rope.low_freq_factor ? slow
                                                                : (1.0 - keep) * slow + keep * f);
    } else if (rope.type == model::RopeType::kYarn) {
      const auto channel = [&](double turns) {
        return n * std::log(original / (turns * two_pi)) / (2.0 * std::log(rope.theta));
      };
      double low = channel(rope.beta_fast), high = channel(rope.beta_slow);
      if (rope.truncate) low = std::floor(low), high = std::ceil(high);
      low = std::max(low, 0.0);
      high = std::min(high, n - 1.0);
      if (low == high) high += 0.001;
      const double ramp = std::clamp((i - low) / (high - low), 0.0, 1.0);
      result.push_back(slow * ramp + f * (1.0 - ramp));
    } else {
      result.push_back(f / (context > original ? rope.long_factor[i] : rope.short_factor[i]));
    }
  }
  return result;
}

}  // namespace pando::reference
