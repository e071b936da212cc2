#include "exec/scalar/recurrence.h"

#include <algorithm>
#include <cmath>

#include "exec/scalar/math.h"
#include "exec/scalar/rows.h"

namespace pando::exec::scalar {
namespace {

// The convolution of inputs u, [channels], which move into the state.
std::vector<float> convolve(const RecurrentRow& row, std::vector<float> u, PathState& state) {
  const size_t n = u.size();
  const Values& w = row.weights.values(Role::kConv);
  const Values& bias = row.weights.values(Role::kConvBias);
  state.inputs.insert(state.inputs.end(), u.begin(), u.end());
  for (size_t c = 0; c < n; ++c) {
    float acc = bias.empty() ? 0.0f : bias[c];
    for (size_t at = c; at < state.inputs.size(); at += n)
      acc = std::fma(w[at], state.inputs[at], acc);
    u[c] = acc;
  }
  state.inputs.erase(state.inputs.begin(), state.inputs.begin() + static_cast<std::ptrdiff_t>(n));
  return u;
}

std::vector<float> silu_of(std::vector<float> x) {
  for (float& value : x) value = silu(value);
  return x;
}

float alpha_of(float rate, float step) { return exp2((rate * step) * kLog2e); }

// x *= factor / |x|
void l2_norm(float* x, float factor, int n) {
  constexpr float kEps = 1e-6f;
  const float r = 1.0f / std::sqrt(dot16(x, x, n) + kEps);
  scale(x, r * factor, n);
}

// The row's vectors for one head of values.
struct HeadRow {
  const float *key, *query, *value;
  float alpha;
};

// s: the head's state. beta, dot: docs/arithmetic.md.
void delta_net_head(const HeadRow& head, float beta, float dot, int key_dim, int value_dim,
                    float* s, float* out) {
  for (int j = 0; j < value_dim; ++j) {
    float r = 0.0f, p = 0.0f;
    for (int i = 0; i < key_dim; ++i) {
      r = std::fma(head.key[i], s[i * value_dim + j], r);
      p = std::fma(head.query[i], s[i * value_dim + j], p);
    }
    const float delta = std::fma(-head.alpha, r, head.value[j]) * beta;
    out[j] = std::fma(dot, delta, head.alpha * p);
    for (int i = 0; i < key_dim; ++i) {
      float& own = s[i * value_dim + j];
      own = std::fma(head.key[i], delta, head.alpha * own);
    }
  }
}

void mamba2_head(const HeadRow& head, float step, float skip, int key_dim, int value_dim, float* s,
                 float* out) {
  for (int j = 0; j < value_dim; ++j) {
    const float v = step * head.value[j];
    float o = 0.0f;
    for (int i = 0; i < key_dim; ++i) {
      float& own = s[i * value_dim + j];
      own = std::fma(head.key[i], v, head.alpha * own);
      o = std::fma(head.query[i], own, o);
    }
    out[j] = std::fma(skip, head.value[j], o);
  }
}

}  // namespace

void short_convolution_row(const RecurrentRow& row, PathState& state, float* y) {
  const size_t n = row.projected.size() / 3;
  const float *const b = row.projected.data(), *const c = b + n, *const x = c + n;
  std::vector<float> u(n);
  for (size_t i = 0; i < n; ++i) u[i] = b[i] * x[i];
  u = convolve(row, std::move(u), state);
  for (size_t i = 0; i < n; ++i) y[i] = u[i] * c[i];
}

void delta_net_row(const RecurrentRow& row, PathState& state, float* y) {
  const model::RecurrentConfig& r = row.spec.recurrent;
  const int dk = r.key_dim, dv = r.value_dim, n_values = r.value_width();
  const int n_channels = row.spec.conv_channels(model::Mixer::kDeltaNet);
  const float* const p = row.projected.data();
  const float *const z = p + n_channels, *const b = z + n_values, *const a = b + r.n_heads;
  std::vector<float> qkv = silu_of(convolve(row, {p, p + n_channels}, state));
  float *const q = qkv.data(), *const k = q + r.key_width(), *const v = k + r.key_width();
  const auto query_scale = static_cast<float>(1.0 / std::sqrt(dk));
  std::vector<float> dots;  // of each key head
  for (int head = 0; head < r.n_key_heads; ++head) {
    l2_norm(q + head * dk, query_scale, dk);
    l2_norm(k + head * dk, 1.0f, dk);
    dots.push_back(dot16(q + head * dk, k + head * dk, dk));
  }
  const float* const norm = row.weights.values(Role::kStateNorm).data();
  const float eps = r.norm_eps > 0.0f ? r.norm_eps : row.spec.rms_eps;
  for (int head = 0; head < r.n_heads; ++head) {
    const int of_key =
        r.heads_interleaved ? head % r.n_key_heads : head / (r.n_heads / r.n_key_heads);
    const float beta = sigmoid(b[head]) * (r.doubled_beta ? 2.0f : 1.0f);
    const float step = softplus(a[head] + row.weights.values(Role::kDtBias)[head]);
    const float alpha = alpha_of(row.weights.values(Role::kDecay)[head], step);
    const HeadRow own{k + of_key * dk, q + of_key * dk, v + head * dv, alpha};
    float* const out = y + head * dv;
    delta_net_head(own, beta, dots[of_key], dk, dv, &state.heads[size_t(head) * dk * dv], out);
    rms_norm(out, norm, eps, dv, out);
    for (int j = 0; j < dv; ++j) out[j] = silu(z[head * dv + j]) * out[j];
  }
}

void mamba2_row(const RecurrentRow& row, PathState& state, float* y) {
  const model::RecurrentConfig& r = row.spec.recurrent;
  const int dk = r.key_dim, dv = r.value_dim, n_values = r.value_width();
  const int n_channels = row.spec.conv_channels(model::Mixer::kMamba2);
  const float *const z = row.projected.data(), *const p = z + n_values, *const dt = p + n_channels;
  const std::vector<float> xbc = silu_of(convolve(row, {p, p + n_channels}, state));
  const float *const x = xbc.data(), *const b = x + n_values, *const c = b + r.key_width();
  for (int head = 0; head < r.n_heads; ++head) {
    const int group = head / (r.n_heads / r.n_key_heads);
    const float step = softplus(dt[head] + row.weights.values(Role::kDtBias)[head]);
    const float alpha = alpha_of(row.weights.values(Role::kDecay)[head], step);
    const HeadRow own{b + group * dk, c + group * dk, x + head * dv, alpha};
    mamba2_head(own, step, row.weights.values(Role::kSkip)[head], dk, dv,
                &state.heads[size_t(head) * dk * dv], y + head * dv);
  }
  for (int i = 0; i < n_values; ++i) y[i] = silu(z[i]) * y[i];
  const float* const norm = row.weights.values(Role::kStateNorm).data();
  const int in_group = n_values / r.n_key_heads;
  for (int i = 0; i < n_values; i += in_group)
    rms_norm(y + i, norm + i, row.spec.rms_eps, in_group, y + i);
}

}  // namespace pando::exec::scalar
