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

// LayerNorm of each head; w: [n_heads, head_dim].
void norm_each_head(Floats& x, const Floats& w, int head_dim, float eps) {
  for (size_t at = 0; at < x.size(); at += head_dim)
    layer_norm(&x[at], &w[at % w.size()], head_dim, eps, &x[at]);
}

}  // namespace

// Turns the queries or keys of a layer.
void Model::turn(Floats& x, int index, int n) const {
  const model::RopeConfig& rope = config_.rotations[config_.layers[index].rotation];
  const int context = options_.context > 0 ? options_.context : config_.max_positions;
  const int head_dim = config_.heads(index).head_dim;
  rotate(x, n, head_dim, frequencies(rope, head_dim, context), rope.attention_factor);
}

// Norms the queries or keys of a layer and turns them.
void Model::norm_and_turn(Floats& x, const Floats& norm, int index, int n) const {
  const bool turns_first = config_.qk_norm == model::QkNorm::kPerHeadTurned;
  if (turns_first) turn(x, index, n);
  if (config_.qk_norm == model::QkNorm::kLayerPerHead)
    norm_each_head(x, norm, config_.heads(index).head_dim, config_.rms_eps);
  else
    x = rms_norm_rows(x, norm, config_.rms_eps);
  if (!turns_first) turn(x, index, n);
}

Model::Keys Model::keys_of(int index, const Floats& h, int n) const {
  const Layer& layer = layers_[index];
  Keys keys;
  keys.k = plus_bias(layer.k.times(h, n), layer.k_bias);
  keys.v =
      config_.layers[index].values_are_keys ? keys.k : plus_bias(layer.v.times(h, n), layer.v_bias);
  norm_and_turn(keys.k, layer.k_norm, index, n);
  if (config_.value_norm)
    keys.v = rms_norm_rows(keys.v, Floats(config_.heads(index).head_dim, 1.0f), config_.rms_eps);
  return keys;
}

// Output of a layer's attention for the rows of its input: [n, d_model].
Floats Model::attention(int index, const Floats& h, const Keys& keys, int n) const {
  const Layer& layer = layers_[index];
  const model::LayerConfig& kind = config_.layers[index];
  if (config_.has_latent())
    return layer.o.times(attend_latents(config_, options_, layer.latent, h, n), n);
  Floats q = plus_bias(layer.q.times(h, n), layer.q_bias);
  norm_and_turn(q, layer.q_norm, index, n);
  const model::RopeConfig& rope = config_.rotations[kind.rotation];
  for (size_t i = 0; i < q.size() && rope.query_growth != 0.0f; ++i) {
    const auto position = static_cast<double>(i / (q.size() / n));
    const double turn = std::floor(position / rope.original_positions);
    q[i] *= static_cast<float>(1.0 + rope.query_growth * std::log(1.0 + turn));
  }
  Floats attended = attend(config_, config_.heads(index), options_, q, keys.k, keys.v, layer.sinks,
                           n, kind.window);
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

// Inputs of each layer for each token: [n_tokens, n_layers, layer_input_dim].
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

// Output of a layer for its inputs: [n, d_model].
Floats Model::of_inputs(int index, const Floats& inputs, const Floats& x, int n) const {
  const Layer& layer = layers_[index];
  const int dim = config_.layer_input_dim;
  const auto row_len = static_cast<size_t>(config_.n_layers()) * dim;
  Floats gated = layer.input_gate.times(x, n);
  for (size_t i = 0; i < gated.size(); ++i)
    gated[i] = gelu(gated[i]) * inputs[i / dim * row_len + size_t(index) * dim + i % dim];
  return norm_rows(layer.input_projection.times(gated, n), layer.input_sum_norm);
}

// Rows of the table of tokens, with those of the tables of types and positions: [n_tokens,
// d_model].
Floats Model::embeddings(std::span<const int32_t> tokens, std::span<const uint8_t> types) const {
  const int d_model = config_.d_model;
  Floats x;
  size_t n_counted = 0;  // earlier tokens that positions count
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool is_pad = tokens[i] == config_.pad_token;
    const size_t first = config_.position_offset, position = is_pad ? first - 1 : first + n_counted;
    for (int j = 0; j < d_model; ++j) {
      float value = embedding_[size_t(tokens[i]) * d_model + j] * config_.embedding_scale;
      if (!type_table_.empty()) value += type_table_[(types.empty() ? 0 : types[i]) * d_model + j];
      if (!position_table_.empty()) value += position_table_[position * d_model + j];
      x.push_back(value);
    }
    if (!is_pad) ++n_counted;
  }
  return norm_rows(x, embedding_norm_);
}

Floats Model::hidden(std::span<const int32_t> tokens, int first,
                     std::span<const uint8_t> types) const {
  const int n = static_cast<int>(tokens.size()), d_model = config_.d_model;
  PANDO_CHECK(0 <= first && first < n);
  // Sums have their norm before they are added, or behind.
  const auto add = [&](const Floats& what, const Floats& norm, Floats& to) {
    const Floats sum = config_.post_norm ? what : norm_rows(what, norm);
    for (size_t i = 0; i < to.size(); ++i) to[i] += sum[i] * config_.residual_scale;
    if (config_.post_norm) to = norm_rows(to, norm);
  };
  Floats x = embeddings(tokens, types);  // [n_tokens, d_model]
  const Floats inputs = layer_inputs(tokens, x);
  std::vector<Keys> keys(layers_.size());
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const model::LayerConfig& kind = config_.layers[index];
    const Floats h = norm_rows(x, layer.attention_norm);
    const Floats own = norm_rows(x, layer.feed_forward_norm);  // of parallel layers
    const int i = static_cast<int>(index);
    if (kind.mixer == model::Mixer::kAttention)
      keys[index] = kind.keys_back > 0 ? keys[index - kind.keys_back] : keys_of(i, h, n);
    if (kind.mixer != model::Mixer::kNone) {
      const Floats mixed = kind.mixer == model::Mixer::kAttention
                               ? attention(i, h, keys[index], n)
                               : recurrent(config_, kind.mixer, layer.recurrent, h, n);
      add(mixed, layer.attention_sum_norm, x);
    }
    if (kind.feed_forward == model::FeedForward::kNone) continue;
    const Floats h2 = !config_.parallel                 ? norm_rows(x, layer.feed_forward_norm)
                      : layer.feed_forward_norm.empty() ? h
                                                        : own;
    const Floats y = kind.feed_forward == model::FeedForward::kDense
                         ? gated(config_, layer.feed_forward, h2, n)
                         : experts(config_, layer.experts, layer.feed_forward, x, h2, n);
    add(y, layer.feed_forward_sum_norm, x);
    if (config_.layer_input_dim > 0) add(of_inputs(i, inputs, x, n), {}, x);
    for (float& value : x) value *= layer.scale.empty() ? 1.0f : layer.scale[0];
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
