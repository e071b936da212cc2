#include "reference/reference_forward.h"

#include <cmath>

#include "base/check.h"
#include "reference/reference_attention.h"
#include "reference/reference_latent.h"
#include "reference/reference_math.h"
#include "reference/reference_rows.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;

// x[row] += bias for every row of x: [n_rows, bias.size()]; no bias adds nothing.
Floats plus_bias(Floats x, const Floats& bias) {
  for (size_t i = 0; i < x.size() && !bias.empty(); ++i) x[i] += bias[i % bias.size()];
  return x;
}

}  // namespace

// What the attention of a layer adds, from the rows of its input: [n, d_model].
Floats Model::attention(const Layer& layer, const model::LayerConfig& kind, const Floats& h,
                        int n) const {
  if (config_.has_latent())
    return layer.o.times(attend_latents(config_, options_, layer.latent, h, n), n);
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
  Floats attended = attend(config_, options_, q, k, v, layer.sinks, n, kind.window);
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
  const size_t n = config_.d_model;
  for (size_t i = 0; i < x.size(); i += n) {
    layer_norm(&x[i], w.data(), static_cast<int>(n), config_.rms_eps, &y[i]);
    for (size_t j = n; j < w.size(); ++j) y[i + j - n] += w[j];
  }
  return y;
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
    const Floats y = kind.feed_forward == model::FeedForward::kDense
                         ? gated(config_, layer.feed_forward, h2, n)
                         : experts(config_, layer.experts, layer.feed_forward, h2, n);
    add(norm_rows(y, layer.feed_forward_sum_norm), x);
  }
  x.erase(x.begin(), x.begin() + int64_t{first} * d_model);
  return norm_rows(x, last_norm_);
}

Floats Model::logits(std::span<const int32_t> tokens, int first) const {
  Floats rows =
      plus_bias(lm_head_[0].times(hidden(tokens, first), static_cast<int>(tokens.size()) - first),
                head_bias_);
  for (float& logit : rows)
    logit = capped(logit / config_.logit_divisor * config_.logit_scale, config_.logit_cap);
  return rows;
}

}  // namespace pando::reference
