#include "reference/reference_forward.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "base/check.h"
#include "base/half.h"
#include "reference/reference_fma.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;

float sum16(const float* lanes) {
  float l[16];
  std::copy_n(lanes, 16, l);
  for (int width = 8; width >= 1; width /= 2)
    for (int i = 0; i < width; ++i) l[i] += l[i + width];
  return l[0];
}

float exp2(float x) {
  if (x < -125.0f) return 0.0f;
  x = std::min(x, 127.0f);
  const float n = std::nearbyintf(x), f = x - n;
  float p = 0x1.430912p-13f;
  for (const float c :
       {0x1.5d87fep-10f, 0x1.3b2ab6p-7f, 0x1.c6b08ep-5f, 0x1.ebfbep-3f, 0x1.62e43p-1f, 1.0f})
    p = std::fma(p, f, c);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (static_cast<uint32_t>(static_cast<int>(n)) << 23));
}

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

// What a page of the type gives back.
float through_kv(DType type, float value) {
  if (type == DType::kBF16) return bf16_to_f32(f32_to_bf16(value));
  if (type == DType::kF16) return f16_to_f32(f32_to_f16(std::clamp(value, -65504.0f, 65504.0f)));
  return value;
}

// The state of a span, or of several merged.
struct Partial {
  float m = -std::numeric_limits<float>::infinity(), z = 0.0f;
  Floats acc;  // [head_dim]
  int n_spans = 1;
};

Partial merge(const Partial& a, const Partial& b) {
  Partial both = b;
  both.n_spans += a.n_spans;
  if (a.m == Partial().m) return both;  // nothing was visible in a
  both.acc.clear();
  both.m = std::max(a.m, b.m);
  const float x = exp2(a.m - both.m), y = exp2(b.m - both.m);
  both.z = std::fma(a.z, x, b.z * y);
  for (size_t d = 0; d < a.acc.size(); ++d) both.acc.push_back(std::fma(a.acc[d], x, b.acc[d] * y));
  return both;
}

// Folds the n visible keys of a tile, the first at `offset` in it, into the span's state. q: [D],
// keys: D rows `stride` apart, values: n rows of D, `value_stride` apart, lanes: [16].
void fold_tile(const Floats& q, const float* keys, int stride, const float* values,
               int value_stride, int offset, int n, bool first, Partial& state, float* lanes) {
  const int head_dim = static_cast<int>(q.size());
  Floats s(n, 0.0f);
  fma_rows(q.data(), head_dim, keys, stride, n, s.data());
  const float m = std::max(state.m, *std::max_element(s.begin(), s.end()));
  const float a = first ? 0.0f : exp2(state.m - m);
  for (float& score : s) score = exp2(score - m);
  for (int i = 0; i < 16; ++i) lanes[i] *= a;
  for (int j = 0; j < n; ++j) lanes[(offset + j) % 16] += s[j];
  for (float& value : state.acc) value *= a;
  fma_rows(s.data(), n, values, value_stride, head_dim, state.acc.data());
  state.m = m;
}

// The state of one query head after its last span, positions first..p: keys [D, n_tokens], values
// n_tokens rows of D, `value_stride` apart.
Partial attend_spans(const Floats& q, const float* keys, int n_tokens, const float* values,
                     int value_stride, int first, int p, const Options& options) {
  std::vector<Partial> partials;  // a binary counter of merged spans
  for (int span = 0; span <= p; span += options.span_len) {
    Partial state;
    state.acc.assign(q.size(), 0.0f);
    float lanes[16] = {};
    bool fresh = true;
    for (int tile = span; tile < span + options.span_len && tile <= p; tile += options.tile_len) {
      const int begin = std::max(tile, first), end = std::min(tile + options.tile_len, p + 1);
      if (begin >= end) continue;
      fold_tile(q, keys + begin, n_tokens, values + int64_t{begin} * value_stride, value_stride,
                begin - tile, end - begin, fresh, state, lanes);
      fresh = false;
    }
    state.z = sum16(lanes);
    for (; !partials.empty() && partials.back().n_spans == state.n_spans; partials.pop_back())
      state = merge(partials.back(), state);
    partials.push_back(std::move(state));
  }
  Partial all = std::move(partials.back());
  for (size_t i = partials.size() - 1; i-- > 0;) all = merge(partials[i], all);
  return all;
}

}  // namespace

Matrix::Matrix(const Floats& w, int n, int k, std::optional<DType> integers) : n_(n), k_(k) {
  if (!integers) {
    blocks_.resize(static_cast<size_t>(n + kBlock - 1) / kBlock * kBlock * k);
    for (int row = 0; row < n; ++row)
      for (int i = 0; i < k; ++i)
        blocks_[(size_t(row / kBlock) * k + i) * kBlock + row % kBlock] = w[size_t(row) * k + i];
    return;
  }
  group_len_ = *integers == DType::kI8 ? k : 32;
  const int n_groups = (k + group_len_ - 1) / group_len_;
  for (size_t group = 0; group < size_t(n) * n_groups; ++group) {
    const int begin = static_cast<int>(group % n_groups) * group_len_;
    const int len = std::min(group_len_, k - begin);
    add_group(quantise(&w[group / n_groups * k + begin], len, *integers));
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
      int sum = 0;
      for (size_t i = 0; i < q.size(); ++i) sum += int{q[i]} * int{w[i]};
      const size_t at = size_t(row) * n_groups + g;
      acc = std::fma(static_cast<float>(sum), groups[g].scale * scales_[at], acc);
      if (!minima_.empty()) acc = std::fma(sums[g], -minima_[at], acc);
    }
    y[row] = acc;
  }
}

Floats Matrix::times(const Floats& x, int n_rows) const {
  Floats y(size_t(n_rows) * n_);
  for (int m = 0; m < n_rows && blocks_.empty(); ++m)
    times_integers(&x[size_t(m) * k_], &y[size_t(m) * n_]);
  for (int first = 0; first < n_ && !blocks_.empty(); first += kBlock) {
    for (int m = 0; m < n_rows; ++m) {
      float acc[kBlock] = {};
      fma_rows(&x[size_t(m) * k_], k_, &blocks_[size_t(first) * k_], kBlock, kBlock, acc);
      std::copy_n(acc, std::min(kBlock, n_ - first), &y[size_t(m) * n_ + first]);
    }
  }
  return y;
}

// q: [n_tokens, n_heads, D]; k, v: [n_tokens, n_kv_heads, D]; returns [n_tokens, n_heads, D].
Floats Model::attend(const Floats& q, const Floats& k, Floats v, int n_tokens, int window) const {
  const int D = config_.head_dim, kv_dim = config_.kv_dim(),
            group = config_.n_heads / config_.n_kv_heads;
  const float scale = static_cast<float>(std::numbers::log2e / std::sqrt(static_cast<double>(D)));
  for (float& x : v) x = through_kv(options_.kv_dtype, x);
  Floats keys(k.size());  // [n_kv_heads, D, n_tokens]
  for (int t = 0; t < n_tokens; ++t)
    for (int i = 0; i < kv_dim; ++i)
      keys[size_t(i) * n_tokens + t] = through_kv(options_.kv_dtype, k[size_t(t) * kv_dim + i]);
  Floats out;
  for (int p = 0; p < n_tokens; ++p) {
    const int first = window == 0 ? 0 : std::max(0, p - window + 1);
    for (int head = 0; head < config_.n_heads; ++head) {
      const int kv_offset = head / group * D;
      Floats scaled(D);
      for (int d = 0; d < D; ++d) scaled[d] = q[size_t(p) * config_.q_dim() + head * D + d] * scale;
      const Partial all = attend_spans(scaled, &keys[size_t(kv_offset) * n_tokens], n_tokens,
                                       &v[kv_offset], kv_dim, first, p, options_);
      const float inverse = 1.0f / all.z;
      for (const float x : all.acc) out.push_back(x * inverse);
    }
  }
  return out;
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
  const std::vector<double> turns =
      frequencies(config_, options_.context > 0 ? options_.context : config_.max_positions);
  for (size_t index = 0; index < layers_.size(); ++index) {
    const Layer& layer = layers_[index];
    const bool post = config_.post_norm;
    const Floats h = rms_norm_rows(x, layer.input_norm, eps);
    Floats q = plus_bias(layer.q.times(h, n), layer.q_bias);
    Floats k = plus_bias(layer.k.times(h, n), layer.k_bias);
    const Floats v = plus_bias(layer.v.times(h, n), layer.v_bias);
    q = rms_norm_rows(q, layer.q_norm, eps);
    k = rms_norm_rows(k, layer.k_norm, eps);
    rotate(q, n, config_.head_dim, turns, config_.rope.attention_factor);
    rotate(k, n, config_.head_dim, turns, config_.rope.attention_factor);
    const Floats attended = attend(q, k, v, n, config_.window(static_cast<int>(index)));
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
