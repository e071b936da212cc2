// docs/arithmetic.md, "Attention", one operation at a time, in floats and in integers.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

inline float reference_exp2(float x) {
  if (x < -125.0f) return 0.0f;
  x = std::min(x, 127.0f);
  const float n = std::nearbyint(x), f = x - n;
  const float c[] = {1.0f,           0x1.62e43p-1f,   0x1.ebfbep-3f,  0x1.c6b08ep-5f,
                     0x1.3b2ab6p-7f, 0x1.5d87fep-10f, 0x1.430912p-13f};
  float p = c[6];
  for (int i = 5; i >= 0; --i) p = std::fma(p, f, c[i]);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(p) +
                              (static_cast<uint32_t>(static_cast<int32_t>(n)) << 23));
}

// Soft cap; 0: none.
inline float reference_capped(float x, float cap) {
  if (cap == 0.0f) return x;
  const float e = reference_exp2((std::fabs(x) / cap) * -0x1.715476p+1f);
  const float y = cap * ((1.0f - e) / (1.0f + e));
  return x < 0.0f ? 0.0f - y : y;
}

inline float reference_sum16(std::vector<float> l) {
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) l[i] += l[i + half];
  return l[0];
}

struct ReferenceSpan {
  float m, z;
  std::vector<float> acc;
  int n_spans;
};

inline ReferenceSpan reference_merge(const ReferenceSpan& a, const ReferenceSpan& b) {
  if (a.m == -INFINITY) return {b.m, b.z, b.acc, a.n_spans + b.n_spans};
  ReferenceSpan r{std::max(a.m, b.m), 0, a.acc, a.n_spans + b.n_spans};
  const float x = reference_exp2(a.m - r.m), y = reference_exp2(b.m - r.m);
  r.z = std::fma(a.z, x, b.z * y);
  for (size_t d = 0; d < r.acc.size(); ++d) r.acc[d] = std::fma(a.acc[d], x, b.acc[d] * y);
  return r;
}

// Folds the visible positions [begin, end) of a tile into the state of their span: s becomes the
// weights, the factor of what came before is returned.
inline float take_weights(std::vector<float>& s, int begin, ReferenceSpan& state,
                          std::vector<float>& lanes) {
  float m = state.m;
  for (size_t j = begin; j < s.size(); ++j) m = std::max(m, s[j]);
  const float a = state.m == -INFINITY ? 0.0f : reference_exp2(state.m - m);
  for (float& l : lanes) l = l * a;
  for (size_t j = begin; j < s.size(); ++j) {
    s[j] = reference_exp2(s[j] - m);
    lanes[j % 16] = lanes[j % 16] + s[j];
  }
  state.m = m;
  return a;
}

// Factor on the values: a sink, a score of base 2, takes part of the weight; null: none.
inline float reference_factor(const ReferenceSpan& all, const float* sink) {
  if (sink == nullptr) return 1.0f / all.z;
  const float m = std::max(all.m, *sink);
  const float x = reference_exp2(all.m - m), y = reference_exp2(*sink - m);
  return x / std::fma(all.z, x, y);
}

// fold(tile, begin, end, state, lanes) for the visible positions tile + [begin, end) of each tile.
template <class Fold>
std::vector<float> reference_attention(const KvShape& shape, int from, int position,
                                       const Fold& fold, const float* sink) {
  const int n_dims = shape.head_dim;
  std::vector<ReferenceSpan> stack;
  for (int span = 0; span <= position; span += shape.span_len) {
    ReferenceSpan state{-INFINITY, 0, std::vector<float>(n_dims, 0.0f), 1};
    std::vector<float> lanes(16, 0.0f);
    for (int tile = span; tile <= position && tile < span + shape.span_len;
         tile += shape.tile_len) {
      const int begin = std::max(0, from - tile);
      const int end = std::min(shape.tile_len, position + 1 - tile);
      if (begin < end) fold(tile, begin, end, state, lanes);
    }
    state.z = reference_sum16(lanes);
    stack.push_back(state);
    while (stack.size() > 1 && stack.back().n_spans == stack[stack.size() - 2].n_spans) {
      const ReferenceSpan b = stack.back();
      stack.pop_back();
      stack.back() = reference_merge(stack.back(), b);
    }
  }
  while (stack.size() > 1) {
    const ReferenceSpan b = stack.back();
    stack.pop_back();
    stack.back() = reference_merge(stack.back(), b);
  }
  const float factor = reference_factor(stack[0], sink);
  std::vector<float> out(n_dims);
  for (int d = 0; d < n_dims; ++d) out[d] = stack[0].acc[d] * factor;
  return out;
}

// key(j, d), value(j, d): element d of position j, widened. q: [head_dim].
template <class Key, class Value>
std::vector<float> attention_in_floats(const KvShape& shape, float scale, float cap, const float* q,
                                       int from, int position, const Key& key, const Value& value,
                                       const float* sink) {
  const auto fold = [&](int tile, int begin, int end, ReferenceSpan& state,
                        std::vector<float>& lanes) {
    std::vector<float> s(end, 0.0f);
    for (int j = begin; j < end; ++j) {
      for (int d = 0; d < shape.head_dim; ++d)
        s[j] = std::fma(q[d] * scale, key(tile + j, d), s[j]);
      s[j] = reference_capped(s[j], cap);
    }
    const float a = take_weights(s, begin, state, lanes);
    for (float& x : state.acc) x = x * a;
    for (int j = begin; j < end; ++j)
      for (int d = 0; d < shape.head_dim; ++d)
        state.acc[d] = std::fma(s[j], value(tile + j, d), state.acc[d]);
  };
  return reference_attention(shape, from, position, fold, sink);
}

// Does the same with int8; key_scale(j), value_scale(j): scales of position j.
template <class Key, class KeyScale, class Value, class ValueScale>
std::vector<float> attention_in_integers(const KvShape& shape, float scale, float cap,
                                         const float* q, int from, int position, const Key& key,
                                         const KeyScale& key_scale, const Value& value,
                                         const ValueScale& value_scale, const float* sink) {
  float q_max = 0;
  for (int d = 0; d < shape.head_dim; ++d) q_max = std::max(q_max, std::fabs(q[d] * scale));
  std::vector<int> q_int;
  for (int d = 0; d < shape.head_dim; ++d)
    q_int.push_back(static_cast<int>(std::nearbyint(q[d] * scale * (127.0f / q_max))));
  const auto fold = [&](int tile, int begin, int end, ReferenceSpan& state,
                        std::vector<float>& lanes) {
    std::vector<float> s(end, 0.0f);
    for (int j = begin; j < end; ++j) {
      int sum = 0;
      for (int d = 0; d < shape.head_dim; ++d) sum += q_int[d] * key(tile + j, d);
      s[j] =
          reference_capped(static_cast<float>(sum) * ((q_max / 127.0f) * key_scale(tile + j)), cap);
    }
    const float a = take_weights(s, begin, state, lanes);
    float most = 0;
    for (int j = begin; j < end; ++j) {
      s[j] = s[j] * value_scale(tile + j);
      most = std::max(most, s[j]);
    }
    if (most < 0x1p-100f) most = 0;
    for (int d = 0; d < shape.head_dim; ++d) {
      int sum = 0;
      for (int j = begin; j < end && most > 0; ++j) {
        const float share = std::nearbyint(s[j] * (255.0f / most));
        sum += (share < 255 ? static_cast<int>(share) : 255) * value(tile + j, d);
      }
      state.acc[d] = std::fma(static_cast<float>(sum), most / 255.0f, state.acc[d] * a);
    }
  };
  return reference_attention(shape, from, position, fold, sink);
}

}  // namespace pando::kernel
