#include "reference/reference_recurrent.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "reference/reference_math.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;
using model::Mixer;
using model::ModelConfig;
using model::RecurrentConfig;

// The outputs of the matrices of one row after another: [n_tokens, sum of outputs].
Floats projected(const Recurrent& layer, const Floats& h, int n_tokens) {
  std::vector<Floats> parts;
  for (const Matrix& matrix : layer.in) parts.push_back(matrix.times(h, n_tokens));
  Floats all;
  for (int t = 0; t < n_tokens; ++t)
    for (const Floats& part : parts) {
      const size_t n = part.size() / n_tokens;
      all.insert(all.end(), part.begin() + t * n, part.begin() + (t + 1) * n);
    }
  return all;
}

// u: [n_tokens, channels].
Floats convolved(const Recurrent& layer, const Floats& u, int channels, int taps) {
  const int n_tokens = static_cast<int>(u.size()) / channels;
  Floats out(u.size());
  for (int t = 0; t < n_tokens; ++t)
    for (int c = 0; c < channels; ++c) {
      float acc = layer.conv_bias.empty() ? 0.0f : layer.conv_bias[c];
      for (int m = 0; m < taps; ++m) {
        const int from = t - taps + 1 + m;
        const float x = from < 0 ? 0.0f : u[size_t(from) * channels + c];
        acc = std::fma(layer.conv[size_t(c) * taps + m], x, acc);
      }
      out[size_t(t) * channels + c] = acc;
    }
  return out;
}

// Columns [first, first + n) of x: [n_tokens, width].
Floats columns(const Floats& x, int width, int first, int n) {
  Floats out;
  for (size_t row = 0; row < x.size(); row += width)
    out.insert(out.end(), x.begin() + row + first, x.begin() + row + first + n);
  return out;
}

float dot16(const float* x, const float* y, int n) {
  float lanes[16] = {};
  for (int i = 0; i < n; ++i) lanes[i % 16] = std::fma(x[i], y[i], lanes[i % 16]);
  return sum16(lanes);
}

void norm(float* x, const float* w, int n, float eps) {
  const float r = 1.0f / std::sqrt(dot16(x, x, n) / static_cast<float>(n) + eps);
  for (int i = 0; i < n; ++i) x[i] = (x[i] * r) * w[i];
}

float alpha_of(float decay, float step) { return exp2((decay * step) * 0x1.715476p+0f); }

Floats delta_net(const ModelConfig& config, const Recurrent& layer, const Floats& h, int n_tokens) {
  const RecurrentConfig& r = config.recurrent;
  const int keys = r.key_width(), values = r.value_width(), dk = r.key_dim, dv = r.value_dim;
  const int channels = config.conv_channels(Mixer::kDeltaNet);
  const int width = channels + values + 2 * r.n_heads;  // qkv, z, b, a
  const Floats in = projected(layer, h, n_tokens);
  Floats c = convolved(layer, columns(in, width, 0, channels), channels, r.conv_taps);
  for (float& x : c) x = silu(x);
  std::vector<Floats> states(r.n_heads, Floats(size_t(dk) * dv));  // [key_dim, value_dim]
  Floats y(size_t(n_tokens) * values);
  for (int t = 0; t < n_tokens; ++t) {
    float *q = &c[size_t(t) * channels], *k = q + keys, *v = k + keys;
    const float *z = &in[size_t(t) * width + channels], *b = z + values, *a = b + r.n_heads;
    Floats qk;  // of each key head
    for (int head = 0; head < r.n_key_heads; ++head) {
      float *qh = q + head * dk, *kh = k + head * dk;
      const float scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(dk)));
      const float rq = (1.0f / std::sqrt(dot16(qh, qh, dk) + 1e-6f)) * scale;
      const float rk = 1.0f / std::sqrt(dot16(kh, kh, dk) + 1e-6f);
      for (int i = 0; i < dk; ++i) qh[i] *= rq;
      for (int i = 0; i < dk; ++i) kh[i] *= rk;
      qk.push_back(dot16(qh, kh, dk));
    }
    for (int head = 0; head < r.n_heads; ++head) {
      const int key_head =
          r.heads_interleaved ? head % r.n_key_heads : head / (r.n_heads / r.n_key_heads);
      const float *qh = q + key_head * dk, *kh = k + key_head * dk, *vh = v + head * dv;
      const float beta = sigmoid(b[head]) * (r.doubled_beta ? 2.0f : 1.0f);
      const float alpha = alpha_of(layer.decay[head], softplus(a[head] + layer.dt_bias[head]));
      Floats& s = states[head];
      float* o = &y[size_t(t) * values + size_t(head) * dv];
      for (int j = 0; j < dv; ++j) {
        float read = 0.0f, p = 0.0f;
        for (int i = 0; i < dk; ++i) read = std::fma(kh[i], s[i * dv + j], read);
        for (int i = 0; i < dk; ++i) p = std::fma(qh[i], s[i * dv + j], p);
        const float delta = std::fma(-alpha, read, vh[j]) * beta;
        o[j] = std::fma(qk[key_head], delta, alpha * p);
        for (int i = 0; i < dk; ++i) s[i * dv + j] = std::fma(kh[i], delta, alpha * s[i * dv + j]);
      }
      norm(o, layer.norm.data(), dv, r.norm_eps > 0.0f ? r.norm_eps : config.rms_eps);
      for (int j = 0; j < dv; ++j) o[j] = silu(z[head * dv + j]) * o[j];
    }
  }
  return layer.out.times(y, n_tokens);
}

Floats short_conv(const ModelConfig& config, const Recurrent& layer, const Floats& h,
                  int n_tokens) {
  const int d = config.d_model;
  const Floats in = projected(layer, h, n_tokens);
  Floats product = columns(in, 3 * d, 0, d);
  const Floats c = columns(in, 3 * d, d, d), x = columns(in, 3 * d, 2 * d, d);
  for (size_t i = 0; i < product.size(); ++i) product[i] *= x[i];
  Floats y = convolved(layer, product, d, config.recurrent.conv_taps);
  for (size_t i = 0; i < y.size(); ++i) y[i] = c[i] * y[i];
  return layer.out.times(y, n_tokens);
}

Floats mamba2(const ModelConfig& config, const Recurrent& layer, const Floats& h, int n_tokens) {
  const RecurrentConfig& r = config.recurrent;
  const int groups = r.key_width(), values = r.value_width(), ds = r.key_dim, dv = r.value_dim;
  const int channels = config.conv_channels(Mixer::kMamba2);
  const int width = values + channels + r.n_heads;  // z, xBC, dt
  const Floats in = projected(layer, h, n_tokens);
  Floats c = convolved(layer, columns(in, width, values, channels), channels, r.conv_taps);
  for (float& x : c) x = silu(x);
  std::vector<Floats> states(r.n_heads, Floats(size_t(ds) * dv));  // [key_dim, value_dim]
  Floats y(size_t(n_tokens) * values);
  for (int t = 0; t < n_tokens; ++t) {
    const float *x = &c[size_t(t) * channels], *b = x + values, *cc = b + groups;
    const float *z = &in[size_t(t) * width], *dt = z + values + channels;
    float* row = &y[size_t(t) * values];
    for (int head = 0; head < r.n_heads; ++head) {
      const int group = head / (r.n_heads / r.n_key_heads);
      const float step = softplus(dt[head] + layer.dt_bias[head]);
      const float alpha = alpha_of(layer.decay[head], step);
      Floats& s = states[head];
      for (int j = 0; j < dv; ++j) {
        const float xj = x[head * dv + j], v = step * xj;
        float o = 0.0f;
        for (int i = 0; i < ds; ++i) {
          s[i * dv + j] = std::fma(b[group * ds + i], v, alpha * s[i * dv + j]);
          o = std::fma(cc[group * ds + i], s[i * dv + j], o);
        }
        row[head * dv + j] = silu(z[head * dv + j]) * std::fma(layer.skip[head], xj, o);
      }
    }
    const int in_group = values / r.n_key_heads;
    for (int first = 0; first < values; first += in_group)
      norm(row + first, &layer.norm[first], in_group, config.rms_eps);
  }
  return layer.out.times(y, n_tokens);
}

}  // namespace

Floats recurrent(const ModelConfig& config, Mixer mixer, const Recurrent& layer, const Floats& h,
                 int n_tokens) {
  switch (mixer) {
    case Mixer::kNone:
    case Mixer::kAttention:
      break;
    case Mixer::kDeltaNet:
      return delta_net(config, layer, h, n_tokens);
    case Mixer::kShortConv:
      return short_conv(config, layer, h, n_tokens);
    case Mixer::kMamba2:
      return mamba2(config, layer, h, n_tokens);
  }
  PANDO_CHECK(false);
}

}  // namespace pando::reference
