#include "exec/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace pando::exec {
namespace {

constexpr double kTwoPi = 2.0 * std::numbers::pi;

// Stretches long waves, keeps short ones, and interpolates between.
double llama3_frequency(const model::RopeConfig& rope, double frequency) {
  const double original = rope.original_positions, wave = kTwoPi / frequency;
  if (wave < original / rope.high_freq_factor) return frequency;
  if (wave > original / rope.low_freq_factor) return frequency / rope.factor;
  const double keep =
      (original / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
  return (1.0 - keep) * (frequency / rope.factor) + keep * frequency;
}

// The ramp of YaRN over channels, from those kept to those stretched.
struct YarnRamp {
  double begin, end;

  YarnRamp(const model::RopeConfig& rope, int rotary_dim)
      : begin(channel(rope, rotary_dim, rope.beta_fast)),
        end(channel(rope, rotary_dim, rope.beta_slow)) {
    if (rope.truncate) {
      begin = std::floor(begin);
      end = std::ceil(end);
    }
    begin = std::max(begin, 0.0);
    end = std::min(end, rotary_dim - 1.0);
    if (begin == end) end += 0.001;
  }
  double at(double i) const { return std::clamp((i - begin) / (end - begin), 0.0, 1.0); }

  // The channel that rotates n times within the original context.
  static double channel(const model::RopeConfig& rope, int rotary_dim, double n) {
    return rotary_dim * std::log(rope.original_positions / (n * kTwoPi)) /
           (2.0 * std::log(rope.theta));
  }
};

}  // namespace

std::vector<double> rope_frequencies(const model::RopeConfig& rope, int rotary_dim, int context) {
  std::vector<double> frequencies(rotary_dim / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double plain = std::pow(rope.theta, -2.0 * static_cast<double>(i) / rotary_dim);
    double& frequency = frequencies[i] = plain;
    switch (rope.type) {
      case model::RopeType::kDefault:
        break;
      case model::RopeType::kLinear:
        frequency = plain / rope.factor;
        break;
      case model::RopeType::kLlama3:
        frequency = llama3_frequency(rope, plain);
        break;
      case model::RopeType::kYarn: {
        const double stretched = YarnRamp(rope, rotary_dim).at(static_cast<double>(i));
        frequency = plain / rope.factor * stretched + plain * (1.0 - stretched);
        break;
      }
      case model::RopeType::kLongRope:
        frequency =
            plain / (context > rope.original_positions ? rope.long_factor : rope.short_factor)[i];
        break;
      case model::RopeType::kProportional:
        frequency = static_cast<int>(i) < static_cast<int>(rope.rotary_share * rotary_dim / 2)
                        ? plain / rope.factor
                        : 0.0;
        break;
    }
  }
  return frequencies;
}

RopeTable::RopeTable(const model::RopeConfig& rope, int head_dim, int context)
    : half_(rope.rotary_dim(head_dim) / 2) {
  cos_.resize(context * half_);
  sin_.resize(context * half_);
  const std::vector<double> frequencies =
      rope_frequencies(rope, rope.rotary_dim(head_dim), context);
  for (size_t i = 0; i < half_; ++i) {
    for (size_t pos = 0; pos < static_cast<size_t>(context); ++pos) {
      const double angle = static_cast<double>(pos) * frequencies[i];
      cos_[pos * half_ + i] = static_cast<float>(std::cos(angle) * rope.attention_factor);
      sin_[pos * half_ + i] = static_cast<float>(std::sin(angle) * rope.attention_factor);
    }
  }
}

RopeTables::RopeTables(const model::ModelSpec& spec, int context) {
  std::vector<std::pair<int, int>> made;  // rotations and sizes of heads
  for (int i = 0; i < spec.n_layers(); ++i) {
    const std::pair wanted(spec.layers[i].rotation, spec.rotated_dim(i));
    const auto found = std::ranges::find(made, wanted);
    places_.push_back(found - made.begin());
    if (found != made.end()) continue;
    made.push_back(wanted);
    tables_.emplace_back(spec.rotations[wanted.first], wanted.second, context);
  }
}

}  // namespace pando::exec
