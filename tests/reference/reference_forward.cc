#include "reference/reference_forward.h"

#include <cmath>

#include "base/check.h"
#include "reference/reference_attention.h"
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

// What the attention of a layer adds, from the rows of its input: [n, d_model].
Floats Model::attention(const Layer& layer, const model::LayerConfig& kind, const Floats& h,
                        int n) const {
  Floats q = plus_bias(layer.q.times(h, n), layer.q_bias);
  Floats k = plus_bias(layer.k.times(h, n), layer.k_bias);
  const Floats v = plus_bias(layer.v.times(h, n), layer.v_bias);
  const auto norm = [&] {
    q = rms_norm_rows(q, layer.q_norm, config_.rms_eps);
    k = rms_norm_rows(k, layer.k_norm, config_.rms_eps);
  };
  const bool turns_first = config_.qk_norm == model::QkNorm::kPerHeadTurned;
  if (!turns_first) norm();
  const model::RopeConfig& rope = config_.rotations[kind.rotation];
  const int context = options_.context > 0 ? options_.context : config_.max_positions;
  const std::vector<double> turns = frequencies(rope, config_.head_dim, context);
  rotate(q, n, config_.head_dim, turns, rope.attention_factor);
  rotate(k, n, config_.head_dim, turns, rope.attention_factor);
  if (turns_first) norm();
  for (size_t i = 0; i < q.size() && rope.query_growth != 0.0f; ++i) {
    const auto position = static_cast<double>(i / (q.size() / n));
    const double turn = std::floor(position / rope.original_positions);
    q[i] *= static_cast<float>(1.0 + rope.query_growth * std::log(1.0 + turn));
  }
  Floats attended = attend(config_, options_, q, k, v, n, kind.window);
  if (config_.attention_gate) {
    const Floats gates = plus_bias(layer.query_gates.times(h, n), layer.gate_bias);
    for (size_t i = 0; i < attended.size(); ++i) attended[i] *= sigmoid(gates[i]);
  }
  return plus_bias(layer.o.times(attended, n), layer.o_bias);
}

// Every row of x: [n_rows, w.size()]; no weights change nothing.
Floats Model::norm_rows(const Floats& x, const Floats& w) const {
  if (config_.norm == model::Norm::kRms || w.empty()) return rms_norm_rows(x, w, config_.rms_eps);
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); i += w.size())
    layer_norm(&x[i], w.data(), static_cast<int>(w.size()), config_.rms_eps, &y[i]);
  return y;
}

Floats Model::feed_forward(const Layer& layer, const Floats& h, int n) const {
  Floats gate = layer.gate.times(h, n);
  const Floats up = layer.up.times(h, n);
  for (size_t i = 0; i < gate.size(); ++i)
    gate[i] =
        (config_.activation == model::Activation::kSilu ? silu(gate[i]) : gelu(gate[i])) * up[i];
  return layer.down.times(gate, n);
}

Floats Model::hidden(std::span<const int32_t> tokens, int first) const {
  const int n = static_cast<int>(tokens.size()), d_model = config_.d_model;
  PANDO_CHECK(0 <= first && first < n);
  const auto add = [&](const Floats& what, Floats& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += what[i] * config_.residual_scale;
  };
  Floats x;  // [n_tokens, d_model]
  for (const int32_t token : tokens) {
    const auto row = embedding_.begin() + int64_t{token} * d_model;
    x.insert(x.end(), row, row + d_model);
  }
  for (float& value : x) value *= config_.embedding_scale;
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const model::LayerConfig& kind = config_.layers[index];
    const Floats h = norm_rows(x, layer.attention_norm);
    const Floats mixed = kind.mixer == model::Mixer::kAttention
                             ? attention(layer, kind, h, n)
                             : recurrent(config_, kind.mixer, layer.recurrent, h, n);
    add(norm_rows(mixed, layer.attention_sum_norm), x);
    const Floats h2 = config_.parallel ? h : norm_rows(x, layer.feed_forward_norm);
    add(norm_rows(feed_forward(layer, h2, n), layer.feed_forward_sum_norm), x);
  }
  x.erase(x.begin(), x.begin() + int64_t{first} * d_model);
  return norm_rows(x, last_norm_);
}

Floats Model::logits(std::span<const int32_t> tokens, int first) const {
  Floats rows = lm_head_[0].times(hidden(tokens, first), static_cast<int>(tokens.size()) - first);
  for (float& logit : rows)
    logit = capped(logit / config_.logit_divisor * config_.logit_scale, config_.logit_cap);
  return rows;
}

}  // namespace pando::reference
