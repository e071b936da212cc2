#include "model/rope.h"

#include <cmath>

namespace pando::model {

RopeTable::RopeTable(int max_positions, int head_dim, double theta) : half_(head_dim / 2) {
  cos_.resize(max_positions * half_);
  sin_.resize(max_positions * half_);
  for (size_t i = 0; i < half_; ++i) {
    const double frequency = std::pow(theta, -2.0 * static_cast<double>(i) / head_dim);
    for (size_t pos = 0; pos < static_cast<size_t>(max_positions); ++pos) {
      const double angle = static_cast<double>(pos) * frequency;
      cos_[pos * half_ + i] = static_cast<float>(std::cos(angle));
      sin_[pos * half_ + i] = static_cast<float>(std::sin(angle));
    }
  }
}

}  // namespace pando::model
