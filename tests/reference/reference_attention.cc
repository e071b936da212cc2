#include "reference/reference_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/half.h"
#include "reference/reference_fma.h"
#include "reference/reference_math.h"

namespace pando::reference {
namespace {

using Floats = std::vector<float>;

// The value after storing it in a page of the type.
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

// Factor on the values if a sink takes part of the weight.
float with_sink(const Partial& all, float sink) {
  const auto t = static_cast<float>(std::numbers::log2e * sink);
  const float m = std::max(all.m, t), x = exp2(all.m - m), y = exp2(t - m);
  return x / std::fma(all.z, x, y);
}

// The state of a span that is being folded.
struct Fold {
  Partial state;
  float lanes[16] = {};
  bool fresh = true;
};

// Scores s of positions [begin, end) become weights; returns the factor of what came before.
float take_weights(Floats& s, int begin, const Options& options, Fold& fold) {
  const float m = std::max(fold.state.m, *std::max_element(s.begin(), s.end()));
  const float a = fold.fresh ? 0.0f : exp2(fold.state.m - m);
  for (float& score : s) score = exp2(score - m);
  for (float& lane : fold.lanes) lane *= a;
  for (size_t j = 0; j < s.size(); ++j) fold.lanes[(begin % options.tile_len + j) % 16] += s[j];
  fold.state.m = m;
  fold.fresh = false;
  return a;
}

// Keys and values of one head in f32, as pages of f32, f16 or bf16 give them back.
struct FloatHead {
  const Options& options;
  float cap;      // of scores
  Floats keys;    // [D, n_tokens]
  Floats values;  // [n_tokens, D]

  FloatHead(const Options& o, float score_cap, const Floats& k, const Floats& v, int n_tokens,
            int stride, int at, int head_dim)
      : options(o), cap(score_cap), keys(size_t(head_dim) * n_tokens) {
    for (int t = 0; t < n_tokens; ++t)
      for (int d = 0; d < head_dim; ++d) {
        keys[size_t(d) * n_tokens + t] = through_kv(o.kv_dtype, k[size_t(t) * stride + at + d]);
        values.push_back(through_kv(o.kv_dtype, v[size_t(t) * stride + at + d]));
      }
  }

  using Query = Floats;
  static Query query(const Floats& q) { return q; }

  // Folds positions [begin, end), visible and of one tile, into the state of their span.
  void fold_tile(const Floats& q, int begin, int end, Fold& fold) const {
    const int head_dim = static_cast<int>(q.size()),
              n_tokens = static_cast<int>(keys.size()) / head_dim;
    Floats s(end - begin, 0.0f);
    fma_rows(q.data(), head_dim, &keys[begin], n_tokens, end - begin, s.data());
    for (float& score : s) score = capped(score, cap);
    const float a = take_weights(s, begin, options, fold);
    for (float& value : fold.state.acc) value *= a;
    fma_rows(s.data(), end - begin, &values[size_t(begin) * head_dim], head_dim, head_dim,
             fold.state.acc.data());
  }
};

// Holds the same in integers.
struct Int8Head {
  const Options& options;
  float cap;
  std::vector<Quantised> keys, values;  // [n_tokens] of D

  Int8Head(const Options& o, float score_cap, const Floats& k, const Floats& v, int n_tokens,
           int stride, int at, int head_dim)
      : options(o), cap(score_cap) {
    for (int t = 0; t < n_tokens; ++t) {
      keys.push_back(quantise_by_amax(&k[size_t(t) * stride + at], head_dim));
      values.push_back(quantise_by_amax(&v[size_t(t) * stride + at], head_dim));
    }
  }

  using Query = Quantised;
  static Query query(const Floats& q) {
    return quantise_by_amax(q.data(), static_cast<int>(q.size()));
  }

  void fold_tile(const Quantised& q, int begin, int end, Fold& fold) const {
    Floats s;
    for (int j = begin; j < end; ++j) {
      int sum = 0;
      for (size_t d = 0; d < q.q.size(); ++d) sum += int{q.q[d]} * int{keys[j].q[d]};
      s.push_back(capped(static_cast<float>(sum) * (q.scale * keys[j].scale), cap));
    }
    const float a = take_weights(s, begin, options, fold);
    float amax = 0.0f;
    for (int j = begin; j < end; ++j) {
      s[j - begin] *= values[j].scale;
      amax = std::max(amax, s[j - begin]);
    }
    if (amax < 0x1p-100f) amax = 0.0f;
    const float factor = amax == 0.0f ? 0.0f : 255.0f / amax;
    for (size_t d = 0; d < fold.state.acc.size(); ++d) {
      int sum = 0;
      for (int j = begin; j < end; ++j) {
        const float share = std::min(std::nearbyintf(s[j - begin] * factor), 255.0f);
        sum += static_cast<int>(share) * int{values[j].q[d]};
      }
      float& acc = fold.state.acc[d];
      acc = std::fma(static_cast<float>(sum), amax / 255.0f, acc * a);
    }
  }
};

// The state of one query head after its last span, positions first..last.
template <class Head>
Partial attend_spans(const Head& head, const typename Head::Query& q, int head_dim, int first,
                     int last, const Options& options) {
  std::vector<Partial> partials;  // a binary counter of merged spans
  for (int span = 0; span <= last; span += options.span_len) {
    Fold fold;
    fold.state.acc.assign(head_dim, 0.0f);
    for (int tile = span; tile < span + options.span_len && tile <= last;
         tile += options.tile_len) {
      const int begin = std::max(tile, first), end = std::min(tile + options.tile_len, last + 1);
      if (begin < end) head.fold_tile(q, begin, end, fold);
    }
    Partial state = std::move(fold.state);
    state.z = sum16(fold.lanes);
    for (; !partials.empty() && partials.back().n_spans == state.n_spans; partials.pop_back())
      state = merge(partials.back(), state);
    partials.push_back(std::move(state));
  }
  Partial all = std::move(partials.back());
  for (size_t i = partials.size() - 1; i-- > 0;) all = merge(partials[i], all);
  return all;
}

template <class Head>
Floats attend_heads(const model::ModelConfig& config, const model::Heads& heads,
                    const Options& options, const Floats& q, const Floats& k, const Floats& v,
                    const Floats& sinks, int n_tokens, int window) {
  const int D = heads.head_dim, group = heads.n / heads.n_kv;
  const double root = std::sqrt(static_cast<double>(D));
  const auto scale = static_cast<float>(config.attention_scale == 0.0f
                                            ? std::numbers::log2e / root
                                            : std::numbers::log2e * config.attention_scale);
  const auto cap = static_cast<float>(std::numbers::log2e * config.score_cap);
  Floats out(q.size());
  for (int kv_head = 0; kv_head < heads.n_kv; ++kv_head) {
    const Head kv(options, cap, k, v, n_tokens, heads.kv_dim(), kv_head * D, D);
    for (int p = 0; p < n_tokens; ++p) {
      const int first = window == 0 ? 0 : std::max(0, p - window + 1);
      const int last = !config.both_ways ? p
                       : window == 0     ? n_tokens - 1
                                         : std::min(n_tokens - 1, p + window - 1);
      for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const size_t at = size_t(p) * heads.q_dim() + head * D;
        Floats scaled(D);
        for (int d = 0; d < D; ++d) scaled[d] = q[at + d] * scale;
        const Partial all = attend_spans(kv, Head::query(scaled), D, first, last, options);
        const float factor = sinks.empty() ? 1.0f / all.z : with_sink(all, sinks[head]);
        for (int d = 0; d < D; ++d) out[at + d] = all.acc[d] * factor;
      }
    }
  }
  return out;
}

}  // namespace

Floats attend(const model::ModelConfig& config, const model::Heads& heads, const Options& options,
              const Floats& q, const Floats& k, const Floats& v, const Floats& sinks, int n_tokens,
              int window) {
  const bool int8 = options.kv_dtype == DType::kI8;
  const auto of_type = int8 ? attend_heads<Int8Head> : attend_heads<FloatHead>;
  return of_type(config, heads, options, q, k, v, sinks, n_tokens, window);
}

}  // namespace pando::reference
