// Rotation factors of the rotary embedding, for every position of the configured context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pando::model {

enum class RopeType { kDefault, kLinear, kLlama3, kYarn, kLongRope, kProportional };

// How rotary embeddings are scaled. A value that the type does not use has its default.
struct RopeConfig {
  RopeType type = RopeType::kDefault;
  double theta = 10000.0;
  // Of a head's channels, from the first on, that rotate. proportional: all are paired as where all
  // rotate, and this share of the pairs turns.
  double rotary_share = 1.0;
  double factor = 1.0;  // linear, llama3, yarn, proportional: by how much positions are stretched
  double attention_factor = 1.0;  // yarn, longrope: multiplies cosine and sine
  int original_positions = 0;     // llama3, yarn, longrope: the context before it was extended
  double low_freq_factor = 1.0, high_freq_factor = 4.0;  // llama3
  double beta_fast = 32.0, beta_slow = 1.0;              // yarn: rotations at the ends of the ramp
  bool truncate = true;                                  // yarn: the ramp ends at whole channels
  std::vector<double> short_factor = {}, long_factor = {};  // longrope: [rotary_dim / 2]
  float query_growth = 0.0f;  // yarn: queries are multiplied by query_factor
  double score_mscale = 0.0;  // yarn, latent attention: scores are multiplied by score_factor

  // 1 + query_growth ln(1 + floor(pos / original_positions)), in double precision, rounded once.
  float query_factor(uint32_t pos) const;
  // The square of 1 + score_mscale ln(factor) / 10.
  double score_factor() const;

  // Channels of a head that are paired.
  int rotary_dim(int head_dim) const {
    return type == RopeType::kProportional ? head_dim : static_cast<int>(head_dim * rotary_share);
  }
  bool operator==(const RopeConfig&) const = default;
};

// docs/arithmetic.md, "Rotary embedding"; [rotary_dim / 2]. longrope takes its long factors where
// the context exceeds the original one. Sources: RoFormer; Position Interpolation (linear);
// Llama 3.1 (llama3); YaRN, section 3; LongRoPE.
std::vector<double> rope_frequencies(const RopeConfig& rope, int rotary_dim, int context);

class RopeTable {
 public:
  // cos and sin of pos * frequency, times the attention factor, in double precision, rounded once.
  RopeTable(const RopeConfig& rope, int head_dim, int context);

  int rotary_dim() const { return static_cast<int>(2 * half_); }
  const float* cos(uint32_t pos) const { return cos_.data() + static_cast<size_t>(pos) * half_; }
  const float* sin(uint32_t pos) const { return sin_.data() + static_cast<size_t>(pos) * half_; }

 private:
  size_t half_;
  std::vector<float> cos_, sin_;  // [context, rotary_dim / 2]
};

}  // namespace pando::model
