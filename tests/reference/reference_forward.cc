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

// Turns the queries or keys of a layer.
void Model::turn(Floats& x, int index, int n) const {
  const model::RopeConfig& rope = config_.rotations[config_.layers[index].rotation];
  const int context = options_.context > 0 ? options_.context : config_.max_positions;
  const int head_dim = config_.heads(index).head_dim;
  rotate(x, n, head_dim, frequencies(rope, head_dim, context), rope.attention_factor);
}

Model::Keys Model::keys_of(int index, const Floats& h, int n) const {
  const Layer& layer = layers_[index];
  Keys keys;
  keys.k = plus_bias(layer.k.times(h, n), layer.k_bias);
  keys.v =
      config_.layers[index].values_are_keys ? keys.k : plus_bias(layer.v.times(h, n), layer.v_bias);
  keys.k = rms_norm_rows(keys.k, layer.k_norm, config_.rms_eps);
  turn(keys.k, index, n);
  if (config_.value_norm)
    keys.v = rms_norm_rows(keys.v, Floats(config_.heads(index).head_dim, 1.0f), config_.rms_eps);
  return keys;
}

// What the attention of a layer adds, from the rows of its input: [n, d_model].
Floats Model::attention(int index, const Floats& h, const Keys& keys, int n) const {
  const Layer& layer = layers_[index];
  const model::LayerConfig& kind = config_.layers[index];
  Floats q = plus_bias(layer.q.times(h, n), layer.q_bias);
  q = rms_norm_rows(q, layer.q_norm, config_.rms_eps);
  const model::RopeConfig& rope = config_.rotations[kind.rotation];
  turn(q, index, n);
  for (size_t i = 0; i < q.size() && rope.query_growth != 0.0f; ++i) {
    const auto position = static_cast<double>(i / (q.size() / n));
    const double turn = std::floor(position / rope.original_positions);
    q[i] *= static_cast<float>(1.0 + rope.query_growth * std::log(1.0 + turn));
  }
  Floats attended =
      attend(config_, config_.heads(index), options_, q, keys.k, keys.v, n, kind.window);
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

// What each layer gets of each token: [n_tokens, n_layers, layer_input_dim].
Floats Model::layer_inputs(std::span<const int32_t> tokens, const Floats& embeddings) const {
  const int n = static_cast<int>(tokens.size()), dim = config_.layer_input_dim;
  if (dim == 0) return {};
  const auto row_len = static_cast<size_t>(config_.n_layers()) * dim;
  Floats inputs = input_projection_.times(embeddings, n);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.d_model)));
  for (float& value : inputs) value *= scale;
  inputs = rms_norm_rows(inputs, input_norm_, config_.rms_eps);
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(dim)));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float row_value = input_table_[tokens[i / row_len] * row_len + i % row_len];
    inputs[i] = (inputs[i] + row_value * root) * static_cast<float>(std::sqrt(0.5));
  }
  return inputs;
}

// What a layer makes of its inputs: [n, d_model].
Floats Model::of_inputs(int index, const Floats& inputs, const Floats& x, int n) const {
  const Layer& layer = layers_[index];
  const int dim = config_.layer_input_dim;
  const auto row_len = static_cast<size_t>(config_.n_layers()) * dim;
  Floats gated = layer.input_gate.times(x, n);
  for (size_t i = 0; i < gated.size(); ++i)
    gated[i] = gelu(gated[i]) * inputs[i / dim * row_len + size_t(index) * dim + i % dim];
  return norm_rows(layer.input_projection.times(gated, n), layer.input_sum_norm);
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
  const Floats inputs = layer_inputs(tokens, x);
  std::vector<Keys> keys(layers_.size());
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const model::LayerConfig& kind = config_.layers[index];
    const Floats h = norm_rows(x, layer.attention_norm);
    const int i = static_cast<int>(index);
    if (kind.mixer == model::Mixer::kAttention)
      keys[index] = kind.keys_back > 0 ? keys[index - kind.keys_back] : keys_of(i, h, n);
    const Floats mixed = kind.mixer == model::Mixer::kAttention
                             ? attention(i, h, keys[index], n)
                             : recurrent(config_, kind.mixer, layer.recurrent, h, n);
    add(norm_rows(mixed, layer.attention_sum_norm), x);
    const Floats h2 = config_.parallel ? h : norm_rows(x, layer.feed_forward_norm);
    add(norm_rows(feed_forward(layer, h2, n), layer.feed_forward_sum_norm), x);
    if (config_.layer_input_dim > 0) add(of_inputs(i, inputs, x, n), x);
    for (float& value : x) value *= layer.scale.empty() ? 1.0f : layer.scale[0];
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
