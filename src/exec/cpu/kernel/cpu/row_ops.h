// Row-local operations, written once over a sixteen-lane type S (simd_*.h).
// Reference: docs/arithmetic.md, "Row-local operations". Every function is a member of a template
// over S, so that no code compiled for one instruction set can be linked into another's table.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"

namespace pando::kernel {

// exp2 of docs/arithmetic.md: relative error below 3e-7; 0 below -125, 2^127 above 127.
template <class S>
struct Exp2 {
  using F = typename S::F;
  static F of(F x) { return of_at_most_127(S::min(S::set1(127.0f), x)); }  // NaN stays NaN
  // Does the same for x that is not above 127, or NaN.
  static F of_at_most_127(F x) {
    const F lowest = S::set1(-125.0f);
    const F n = S::round(S::max(lowest, x));
    const F f = S::sub(x, n);
    F p = S::set1(0x1.430912p-13f);
    p = S::fma(p, f, S::set1(0x1.5d87fep-10f));
    p = S::fma(p, f, S::set1(0x1.3b2ab6p-7f));
    p = S::fma(p, f, S::set1(0x1.c6b08ep-5f));
    p = S::fma(p, f, S::set1(0x1.ebfbep-3f));
    p = S::fma(p, f, S::set1(0x1.62e43p-1f));
    p = S::fma(p, f, S::set1(1.0f));
    return S::select_less(x, lowest, S::zero(), S::scale_by_pow2(p, n));
  }
  // In place; x: [n], none of them above 127.
  static void of_all(float* x, int n) {
    for (int i = 0; i < n; i += 16)
      S::store_first(x + i, of_at_most_127(S::load_first(x + i, n - i)), n - i);
  }
};

template <class S>
struct RowOps {
  using F = typename S::F;

  static void rms_norm(const float* x, const float* weight, float eps, int n, float* y) {
    F sum = S::zero();
    for (int i = 0; i < n; i += 16) {
      const F v = S::load_first(x + i, n - i);
      sum = S::fma(v, v, sum);
    }
    const float r = 1.0f / __builtin_sqrtf(S::reduce_add(sum) / static_cast<float>(n) + eps);
    const F factor = S::set1(r);
    for (int i = 0; i < n; i += 16) {
      const F v = S::mul(S::load_first(x + i, n - i), factor);
      S::store_first(y + i, S::mul(v, S::load_first(weight + i, n - i)), n - i);
    }
  }

  static void layer_norm(const float* x, const float* weight, float eps, int n, float* y) {
    F sum = S::zero();
    for (int i = 0; i < n; i += 16) sum = S::add(sum, S::load_first(x + i, n - i));
    const F mean = S::set1(S::reduce_add(sum) / static_cast<float>(n));
    F squares = S::zero();
    for (int i = 0; i < n; i += 16) {
      const F v = S::sub(S::load_first(x + i, n - i), mean);
      S::store_first(y + i, v, n - i);
      const F own = S::load_first(y + i, n - i);  // zero beyond the row
      squares = S::fma(own, own, squares);
    }
    const F factor =
        S::set1(1.0f / __builtin_sqrtf(S::reduce_add(squares) / static_cast<float>(n) + eps));
    for (int i = 0; i < n; i += 16) {
      const F v = S::mul(S::load_first(y + i, n - i), factor);
      S::store_first(y + i, S::mul(v, S::load_first(weight + i, n - i)), n - i);
    }
  }

  static void rope(float* x, const float* cos, const float* sin, int n_rotated) {
    const int half = n_rotated / 2;
    const F minus = S::set1(-1.0f);
    for (int i = 0; i < half; i += 16) {
      const int n = half - i;
      const F a = S::load_first(x + i, n), b = S::load_first(x + half + i, n);
      const F c = S::load_first(cos + i, n), s = S::load_first(sin + i, n);
      S::store_first(x + i, S::fma(a, c, S::mul(minus, S::mul(b, s))), n);
      S::store_first(x + half + i, S::fma(b, c, S::mul(a, s)), n);
    }
  }

  static F silu(F x) { return S::div(x, one_plus_exp_minus(x)); }
  static F sigmoid(F x) { return S::div(S::set1(1.0f), one_plus_exp_minus(x)); }
  // log(1 + e^x) as max(x, 0) + 2 atanh(s), where s is at most 1/3.
  static F softplus(F x) {
    const F e = Exp2<S>::of(S::mul(S::abs(x), S::set1(-0x1.715476p+0f)));
    const F s = S::div(e, S::add(S::set1(2.0f), e)), t = S::mul(s, s);
    F p = S::set1(1.0f / 15.0f);
    p = S::fma(p, t, S::set1(1.0f / 13.0f));
    p = S::fma(p, t, S::set1(1.0f / 11.0f));
    p = S::fma(p, t, S::set1(1.0f / 9.0f));
    p = S::fma(p, t, S::set1(1.0f / 7.0f));
    p = S::fma(p, t, S::set1(1.0f / 5.0f));
    p = S::fma(p, t, S::set1(1.0f / 3.0f));
    p = S::fma(p, t, S::set1(1.0f));
    return S::add(S::max(x, S::zero()), S::mul(S::add(s, s), p));
  }

  static void swiglu(const float* gate, const float* up, int n, float* out) {
    for (int i = 0; i < n; i += 16) {
      const F g = silu(S::load_first(gate + i, n - i));
      S::store_first(out + i, S::mul(g, S::load_first(up + i, n - i)), n - i);
    }
  }

  // x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which is x (1 + tanh(...)) / 2.
  static F gelu(F x) {
    const F p = S::fma(S::mul(x, x), S::set1(-0x1.a5a7dp-4f), S::set1(-0x1.26aec2p+1f));
    return S::div(x, S::add(S::set1(1.0f), Exp2<S>::of(S::mul(x, p))));
  }

  static void geglu(const float* gate, const float* up, int n, float* out) {
    for (int i = 0; i < n; i += 16) {
      const F g = gelu(S::load_first(gate + i, n - i));
      S::store_first(out + i, S::mul(g, S::load_first(up + i, n - i)), n - i);
    }
  }

  // x Phi(x) as max(x, 0) - |x| Phi(-|x|), with Abramowitz and Stegun's 7.1.26 for Phi: its error
  // is below 1.5e-7.
  static F gelu_erf(F x) {
    const F size = S::abs(x), one = S::set1(1.0f);
    const F t = S::div(one, S::fma(size, S::set1(0x1.da671p-3f), one));
    F p = S::set1(0x1.0fb844p-1f);
    p = S::fma(p, t, S::set1(-0x1.7401c6p-1f));
    p = S::fma(p, t, S::set1(0x1.6be1c6p-1f));
    p = S::fma(p, t, S::set1(-0x1.23531cp-3f));
    p = S::fma(p, t, S::set1(0x1.04f20cp-3f));
    const F e = Exp2<S>::of(S::mul(S::mul(x, x), S::set1(-0x1.715476p-1f)));
    const F below = S::mul(size, S::mul(S::mul(p, t), e));  // |x| Phi(-|x|)
    return S::sub(S::max(x, S::zero()), below);
  }

  static void gelu_of_all(const float* x, int n, float* out) {
    for (int i = 0; i < n; i += 16)
      S::store_first(out + i, gelu(S::load_first(x + i, n - i)), n - i);
  }
  static void gelu_erf_of_all(const float* x, int n, float* out) {
    for (int i = 0; i < n; i += 16)
      S::store_first(out + i, gelu_erf(S::load_first(x + i, n - i)), n - i);
  }

  static void clamped_swiglu(const float* gate, const float* up, float alpha, float limit, int n,
                             float* out) {
    const F most = S::set1(limit), least = S::set1(-limit), one = S::set1(1.0f);
    const F factor = S::set1(alpha * -0x1.715476p+0f);
    for (int i = 0; i < n; i += 16) {
      const F g = S::min(most, S::load_first(gate + i, n - i));  // NaN stays NaN
      const F u = S::max(least, S::min(most, S::load_first(up + i, n - i)));
      const F glu = S::div(g, S::add(one, Exp2<S>::of(S::mul(g, factor))));
      S::store_first(out + i, S::mul(S::add(u, one), glu), n - i);
    }
  }

  // cap tanh(x / cap)
  static F capped(F x, F cap) {
    const F one = S::set1(1.0f);
    const F e = Exp2<S>::of(S::mul(S::div(S::abs(x), cap), S::set1(-0x1.715476p+1f)));
    const F y = S::mul(cap, S::div(S::sub(one, e), S::add(one, e)));
    return S::select_less(x, S::zero(), S::sub(S::zero(), y), y);
  }

  static void soft_cap(float* x, float cap, int n) {
    for (int i = 0; i < n; i += 16)
      S::store_first(x + i, capped(S::load_first(x + i, n - i), S::set1(cap)), n - i);
  }

  static void gate(float* x, const float* gate, int n) {
    for (int i = 0; i < n; i += 16) {
      const F g = sigmoid(S::load_first(gate + i, n - i));
      S::store_first(x + i, S::mul(S::load_first(x + i, n - i), g), n - i);
    }
  }

  static void sigmoids(const float* x, int n, float* out) {
    for (int i = 0; i < n; i += 16)
      S::store_first(out + i, sigmoid(S::load_first(x + i, n - i)), n - i);
  }

  static void softmax(float* x, int n) {
    F most = S::set1(x[0]);
    for (int i = 0; i < n; i += 16)
      most = S::max(most, S::select_first(n - i, S::load_first(x + i, n - i), most));
    const F m = S::set1(S::reduce_max(most));
    F sum = S::zero();
    for (int i = 0; i < n; i += 16) {
      const F v = S::mul(S::sub(S::load_first(x + i, n - i), m), S::set1(0x1.715476p+0f));
      S::store_first(x + i, Exp2<S>::of(v), n - i);
      sum = S::add(sum, S::load_first(x + i, n - i));  // zero beyond the row
    }
    const F divisor = S::set1(S::reduce_add(sum));
    for (int i = 0; i < n; i += 16)
      S::store_first(x + i, S::div(S::load_first(x + i, n - i), divisor), n - i);
  }

  static void decay(const float* x, const float* bias, const float* rate, int n, float* step,
                    float* alpha) {
    for (int i = 0; i < n; i += 16) {
      const F d = softplus(S::add(S::load_first(x + i, n - i), S::load_first(bias + i, n - i)));
      const F exponent = S::mul(S::mul(S::load_first(rate + i, n - i), d), S::set1(0x1.715476p+0f));
      S::store_first(step + i, d, n - i);
      S::store_first(alpha + i, Exp2<S>::of(exponent), n - i);
    }
  }

  static float dot(const float* x, const float* y, int n) {
    F sum = S::zero();
    for (int i = 0; i < n; i += 16)
      sum = S::fma(S::load_first(x + i, n - i), S::load_first(y + i, n - i), sum);
    return S::reduce_add(sum);
  }

  static void l2_norm(float* x, float eps, float factor, int n) {
    const float r = 1.0f / __builtin_sqrtf(dot(x, x, n) + eps);
    scale(x, r * factor, n, x);
  }

  static void multiply(float* x, const float* y, int n) {
    for (int i = 0; i < n; i += 16)
      S::store_first(x + i, S::mul(S::load_first(x + i, n - i), S::load_first(y + i, n - i)),
                     n - i);
  }

  static void add(float* x, const float* y, int n) {
    for (int i = 0; i < n; i += 16)
      S::store_first(x + i, S::add(S::load_first(x + i, n - i), S::load_first(y + i, n - i)),
                     n - i);
  }

  static void scale(const float* x, float factor, int n, float* out) {
    const F f = S::set1(factor);
    for (int i = 0; i < n; i += 16)
      S::store_first(out + i, S::mul(S::load_first(x + i, n - i), f), n - i);
  }

  static float abs_max(const float* x, int n) {
    F most = S::zero();
    for (int i = 0; i < n; i += 16) most = S::max(most, S::abs(S::load_first(x + i, n - i)));
    return S::reduce_max(most);
  }

  // out: [n rounded up to sixteen]
  static QuantizedRow quantize(const float* x, int n, int8_t* out) {
    float amax = abs_max(x, n);
    if (amax < 0x1p-100f) amax = 0.0f;  // 127 / amax must be finite
    const F factor = S::set1(amax == 0.0f ? 0.0f : 127.0f / amax);
    const F most = S::set1(127.0f), least = S::set1(-127.0f);
    F sum = S::zero();
    for (int i = 0; i < n; i += 16) {
      F q = S::round(S::mul(S::load_first(x + i, n - i), factor));
      q = S::max(S::min(q, most), least);  // NaN: most
      sum = S::add(sum, S::select_first(n - i, q, S::zero()));
      S::store_s8(out + i, q);
    }
    return {amax / 127.0f, -128 * static_cast<int32_t>(S::reduce_add(sum))};
  }

  static void widen(DType type, const void* from, int64_t n, float* to) {
    if (type == DType::kF32) {
      const float* p = static_cast<const float*>(from);
      for (int64_t i = 0; i < n; i += 16)
        S::store_first(to + i, S::load_first(p + i, clip(n - i)), clip(n - i));
      return;
    }
    const uint16_t* p = static_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < n; i += 16) {
      if (n - i >= 16) {
        S::store(to + i, type == DType::kF16 ? S::load_f16(p + i) : S::load_bf16(p + i));
      } else {
        uint16_t tail[16] = {};
        for (int64_t j = 0; j < n - i; ++j) tail[j] = p[i + j];
        S::store_first(to + i, type == DType::kF16 ? S::load_f16(tail) : S::load_bf16(tail),
                       clip(n - i));
      }
    }
  }

  static void narrow_kv(DType type, const float* from, int n, void* to) {
    const F most = S::set1(65504.0f), least = S::set1(-65504.0f);
    for (int i = 0; i < n; i += 16) {
      const F v = S::load_first(from + i, n - i);
      if (type == DType::kF32) {
        S::store_first(static_cast<float*>(to) + i, v, n - i);
        continue;
      }
      uint16_t bits[16];
      if (type == DType::kBF16) {
        S::store_bf16(bits, v);
      } else {
        const F capped = S::select_less(most, v, most, v);  // NaN stays NaN
        S::store_f16(bits, S::select_less(capped, least, least, capped));
      }
      uint16_t* out = static_cast<uint16_t*>(to) + i;
      for (int j = 0; j < 16 && i + j < n; ++j) out[j] = bits[j];
    }
  }

 private:
  static F one_plus_exp_minus(F x) {
    return S::add(S::set1(1.0f), Exp2<S>::of(S::mul(x, S::set1(-0x1.715476p+0f))));
  }
  static int clip(int64_t n) { return n < 16 ? static_cast<int>(n) : 16; }
};

}  // namespace pando::kernel
