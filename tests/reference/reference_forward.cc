#include "reference/reference_forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/check.h"
#include "base/half.h"
#include "reference/reference_attention.h"
#include "reference/reference_fma.h"
#include "reference/reference_math.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;

void rms_norm(const float* x, const Floats& w, float eps, float* y) {
  const int n = static_cast<int>(w.size());
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], x[i], lanes[i % 16]);
  const float r = 1.0f / std::sqrt(sum16(lanes) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) y[i] = (x[i] * r) * w[i];
}

// Every row of x: [n_rows, w.size()]; no weights change nothing.
Floats rms_norm_rows(const Floats& x, const Floats& w, float eps) {
  if (w.empty()) return x;
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); i += w.size()) rms_norm(&x[i], w, eps, &y[i]);
  return y;
}

// x[row] += bias for every row of x: [n_rows, bias.size()]; no bias adds nothing.
Floats plus_bias(Floats x, const Floats& bias) {
  for (size_t i = 0; i < x.size() && !bias.empty(); ++i) x[i] += bias[i % bias.size()];
  return x;
}

// Rotates every head of x: [n_tokens, n_heads, head_dim]; token t is at position t.
void rotate(Floats& x, int n_tokens, int head_dim, const std::vector<double>& frequencies,
            double factor) {
  const int half = static_cast<int>(frequencies.size());
  const size_t row = x.size() / n_tokens;
  for (int p = 0; p < n_tokens; ++p) {
    for (int i = 0; i < half; ++i) {
      const double angle = p * frequencies[i];
      const float c = static_cast<float>(std::cos(angle) * factor),
                  s = static_cast<float>(std::sin(angle) * factor);
      for (size_t head = p * row; head < (p + 1) * row; head += head_dim) {
        const float a = x[head + i], b = x[head + half + i];
        x[head + i] = std::fma(a, c, -(b * s));
        x[head + half + i] = std::fma(b, c, a * s);
      }
    }
  }
}

}  // namespace

Matrix::Matrix(const Floats& w, int n, int k, std::optional<DType> made)
    : n_(n), k_(k), rounds_(made == DType::kBF16Dot) {
  if (!made || rounds_) {
    blocks_.resize(static_cast<size_t>(n + kBlock - 1) / kBlock * kBlock * k);
    for (int row = 0; row < n; ++row)
      for (int i = 0; i < k; ++i)
        blocks_[(size_t(row / kBlock) * k + i) * kBlock + row % kBlock] =
            rounds_ ? rounded_for_dot(w[size_t(row) * k + (i ^ 1)]) : w[size_t(row) * k + i];
    return;
  }
  group_len_ = *made == DType::kI8 ? k : 32;
  const int n_groups = (k + group_len_ - 1) / group_len_;
  for (size_t group = 0; group < size_t(n) * n_groups; ++group) {
    const int begin = static_cast<int>(group % n_groups) * group_len_;
    const int len = std::min(group_len_, k - begin);
    add_group(quantise(&w[group / n_groups * k + begin], len, *made));
  }
}

Matrix::Matrix(const std::vector<Quantised>& groups, int n, int k) : n_(n), k_(k), group_len_(32) {
  for (const Quantised& group : groups) {
    add_group(group);
    minima_.push_back(group.minimum);
  }
}

void Matrix::add_group(const Quantised& group) {
  quantised_.insert(quantised_.end(), group.q.begin(), group.q.end());
  quantised_.resize((scales_.size() + 1) * group_len_);
  scales_.push_back(group.scale);
  factors_.insert(factors_.end(), group.factors, group.factors + 2);
}

void Matrix::times_integers(const float* x, float* y) const {
  const int n_groups = (k_ + group_len_ - 1) / group_len_;
  std::vector<Quantised> groups;
  Floats sums;  // of each group's activations
  for (int i = 0; i < k_; i += group_len_) {
    groups.push_back(quantise_by_amax(x + i, std::min(group_len_, k_ - i)));
    const std::vector<int8_t>& q = groups.back().q;
    sums.push_back(groups.back().scale *
                   static_cast<float>(std::accumulate(q.begin(), q.end(), 0)));
  }
  for (int row = 0; row < n_; ++row) {
    float acc = 0.0f;
    for (int g = 0; g < n_groups; ++g) {
      const int8_t* w = &quantised_[(size_t(row) * n_groups + g) * group_len_];
      const std::vector<int8_t>& q = groups[g].q;
      const size_t at = size_t(row) * n_groups + g;
      const float sum = group_len_ == 32
                            ? sum_of_products(q.data(), w, q.size(), &factors_[2 * at])
                            : static_cast<float>(std::inner_product(q.begin(), q.end(), w, 0));
      acc = std::fma(sum, groups[g].scale * scales_[at], acc);
      if (!minima_.empty()) acc = std::fma(sums[g], -minima_[at], acc);
    }
    y[row] = acc;
  }
}

Floats Matrix::times(const Floats& x, int n_rows) const {
  Floats y(size_t(n_rows) * n_);
  for (int m = 0; m < n_rows && blocks_.empty(); ++m)
    times_integers(&x[size_t(m) * k_], &y[size_t(m) * n_]);
  Floats rounded;
  for (size_t i = 0; i < x.size() && rounds_; ++i) rounded.push_back(rounded_for_dot(x[i ^ 1]));
  const Floats& inputs = rounds_ ? rounded : x;
  for (int first = 0; first < n_ && !blocks_.empty(); first += kBlock) {
    for (int m = 0; m < n_rows; ++m) {
      float acc[kBlock] = {};
      fma_rows(&inputs[size_t(m) * k_], k_, &blocks_[size_t(first) * k_], kBlock, kBlock, acc);
      std::copy_n(acc, std::min(kBlock, n_ - first), &y[size_t(m) * n_ + first]);
    }
  }
  return y;
}

Floats Model::hidden(std::span<const int32_t> tokens, int first) const {
  const int n = static_cast<int>(tokens.size()), d_model = config_.d_model;
  const float eps = config_.rms_eps;
  PANDO_CHECK(0 <= first && first < n);
  Floats x;  // [n_tokens, d_model]
  for (const int32_t token : tokens) {
    const auto row = embedding_.begin() + int64_t{token} * d_model;
    x.insert(x.end(), row, row + d_model);
  }
  const int context = options_.context > 0 ? options_.context : config_.max_positions;
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const bool post = layer.input_norm.empty();  // norms stand behind the layer's parts
    const Floats h = rms_norm_rows(x, layer.input_norm, eps);
    Floats q = plus_bias(layer.q.times(h, n), layer.q_bias);
    Floats k = plus_bias(layer.k.times(h, n), layer.k_bias);
    const Floats v = plus_bias(layer.v.times(h, n), layer.v_bias);
    q = rms_norm_rows(q, layer.q_norm, eps);
    k = rms_norm_rows(k, layer.k_norm, eps);
    const model::RopeConfig& rope = config_.rotations[config_.layers[index].rotation];
    const std::vector<double> turns = frequencies(rope, config_.head_dim, context);
    rotate(q, n, config_.head_dim, turns, rope.attention_factor);
    rotate(k, n, config_.head_dim, turns, rope.attention_factor);
    const Floats attended = attend(config_, options_, q, k, v, n, config_.layers[index].window);
    Floats projected = plus_bias(layer.o.times(attended, n), layer.o_bias);
    if (post) projected = rms_norm_rows(projected, layer.post_attention_norm, eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] += projected[i];
    const Floats h2 = post ? x : rms_norm_rows(x, layer.post_attention_norm, eps);
    Floats gate = layer.gate.times(h2, n);
    const Floats up = layer.up.times(h2, n);
    for (size_t i = 0; i < gate.size(); ++i)
      gate[i] = (gate[i] / (1.0f + exp2(gate[i] * -0x1.715476p+0f))) * up[i];
    const Floats down = rms_norm_rows(layer.down.times(gate, n), layer.post_feedforward_norm, eps);
    for (size_t i = 0; i < x.size(); ++i) x[i] += down[i];
  }
  x.erase(x.begin(), x.begin() + int64_t{first} * d_model);
  return rms_norm_rows(x, last_norm_, eps);
}

Floats Model::logits(std::span<const int32_t> tokens, int first) const {
  return lm_head_[0].times(hidden(tokens, first), static_cast<int>(tokens.size()) - first);
}

}  // namespace pando::reference
