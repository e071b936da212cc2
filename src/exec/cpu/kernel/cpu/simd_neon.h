// Sixteen f32 lanes in four NEON registers. Contract and bits equal those of simd_portable.h.
// The instruction set is in the type, so that code compiled for one is never linked into another's.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace pando::kernel {

// kDotProducts: has sdot and udot. kMixedSigns: also usdot and usmmla.
template <bool kDotProducts, bool kMixedSigns>
struct SimdNeonOf {
  static constexpr int kRegisters = 16;  // of 32, each half of one with AVX2
  static constexpr bool kDotsBf16 = false;
  static constexpr bool kDotsBytes = kDotProducts;
  static constexpr bool kPairsQuads = false;
  static constexpr bool kPairsRows = kMixedSigns;
  static constexpr bool kTiles = false;

  template <class V>
  struct Four {
    V a, b, c, d;
  };
  using F = Four<float32x4_t>;
  using I = Four<int32x4_t>;
  // [16][4] s8; with mixed signs u8: integers + their offset.
  using Weights = Four<int8x16_t>;
  using Nibbles = Weights;  // below 64
  using NibbleSums = I;
  using Quad = int8x16_t;  // four s8, four times
  using Values = Weights;  // [16][4] s8
  struct Shares {
    uint8x16_t q;     // four u8, four times
    int32x4_t minus;  // -128 * their sum
  };

  static F zero() { return set1(0.0f); }
  static F set1(float x) { return all(vdupq_n_f32(x)); }
  static F load(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }
  static void store(float* p, F x) {
    vst1q_f32(p, x.a);
    vst1q_f32(p + 4, x.b);
    vst1q_f32(p + 8, x.c);
    vst1q_f32(p + 12, x.d);
  }
  static F load_first(const float* p, int n) {
    if (n >= 16) return load(p);
    return {load_some(p, n), load_some(p + 4, n - 4), load_some(p + 8, n - 8),
            load_some(p + 12, n - 12)};
  }
  static void store_first(float* p, F x, int n) {
    if (n >= 16) return store(p, x);
    store_some(p, x.a, n);
    store_some(p + 4, x.b, n - 4);
    store_some(p + 8, x.c, n - 8);
    store_some(p + 12, x.d, n - 12);
  }

  static F add(F x, F y) {
    return each(x, y, [](auto p, auto q) { return vaddq_f32(p, q); });
  }
  static F sub(F x, F y) {
    return each(x, y, [](auto p, auto q) { return vsubq_f32(p, q); });
  }
  static F mul(F x, F y) {
    return each(x, y, [](auto p, auto q) { return vmulq_f32(p, q); });
  }
  static F div(F x, F y) {
    return each(x, y, [](auto p, auto q) { return vdivq_f32(p, q); });
  }
  static F fma(F x, F y, F z) {
    return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
            vfmaq_f32(z.d, x.d, y.d)};
  }
  static F max(F x, F y) {
    return each(x, y, [](auto p, auto q) { return greater(p, q); });
  }
  static F min(F x, F y) {
    return each(x, y, [](auto p, auto q) { return vbslq_f32(vcltq_f32(p, q), p, q); });
  }
  static F abs(F x) {
    return each(x, [](auto p) { return vabsq_f32(p); });
  }
  static F select_first(int n, F x, F y) {
    return {vbslq_f32(below(n), x.a, y.a), vbslq_f32(below(n - 4), x.b, y.b),
            vbslq_f32(below(n - 8), x.c, y.c), vbslq_f32(below(n - 12), x.d, y.d)};
  }
  static F select_less(F x, F y, F yes, F no) {
    return {
        vbslq_f32(vcltq_f32(x.a, y.a), yes.a, no.a), vbslq_f32(vcltq_f32(x.b, y.b), yes.b, no.b),
        vbslq_f32(vcltq_f32(x.c, y.c), yes.c, no.c), vbslq_f32(vcltq_f32(x.d, y.d), yes.d, no.d)};
  }
  static F round(F x) {
    return each(x, [](auto p) { return vrndnq_f32(p); });
  }
  static F scale_by_pow2(F x, F n) {
    return each(x, n, [](auto p, auto q) {
      const int32x4_t shift = vshlq_n_s32(vcvtq_s32_f32(q), 23);
      return vreinterpretq_f32_s32(vaddq_s32(vreinterpretq_s32_f32(p), shift));
    });
  }

  static float reduce_add(F x) {
    const float32x4_t r4 = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
    const float32x2_t r2 = vadd_f32(vget_low_f32(r4), vget_high_f32(r4));
    return vget_lane_f32(r2, 0) + vget_lane_f32(r2, 1);
  }
  static float reduce_max(F x) {
    const float32x4_t r4 = greater(greater(x.a, x.c), greater(x.b, x.d));
    const float32x4_t r2 = greater(r4, vextq_f32(r4, r4, 2));
    return vgetq_lane_f32(greater(r2, vextq_f32(r2, r2, 1)), 0);
  }

  static F load_f16(const uint16_t* p) {
    return {widen_f16(p), widen_f16(p + 4), widen_f16(p + 8), widen_f16(p + 12)};
  }
  static F load_u8(const uint8_t* p) {
    return each(widen_u8(p), [](auto q) { return vcvtq_f32_u32(q); });
  }
  static F load_s8(const uint8_t* p) {
    const int8x16_t bytes = vreinterpretq_s8_u8(vld1q_u8(p));
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_high_s8(bytes);
    return to_float({vmovl_s16(vget_low_s16(low)), vmovl_high_s16(low),
                     vmovl_s16(vget_low_s16(high)), vmovl_high_s16(high)});
  }
  static F load_powers(const uint8_t* p) {
    return each(widen_u8(p), [](auto q) {
      const uint32x4_t twice = vmaxq_u32(vshlq_n_u32(q, 23), vdupq_n_u32(0x400000));
      return vmulq_f32(vreinterpretq_f32_u32(twice), vdupq_n_f32(0.5f));
    });
  }
  static F load_bf16(const uint16_t* p) {
    return {widen_bf16(p), widen_bf16(p + 4), widen_bf16(p + 8), widen_bf16(p + 12)};
  }
  static void store_f16(uint16_t* p, F x) {
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x.a)));
    vst1_u16(p + 4, vreinterpret_u16_f16(vcvt_f16_f32(x.b)));
    vst1_u16(p + 8, vreinterpret_u16_f16(vcvt_f16_f32(x.c)));
    vst1_u16(p + 12, vreinterpret_u16_f16(vcvt_f16_f32(x.d)));
  }
  static void store_bf16(uint16_t* p, F x) {
    vst1_u16(p, narrow_bf16(x.a));
    vst1_u16(p + 4, narrow_bf16(x.b));
    vst1_u16(p + 8, narrow_bf16(x.c));
    vst1_u16(p + 12, narrow_bf16(x.d));
  }
  static void load_bf16_pair(const uint16_t* p, F& even, F& odd) {
    const Four<uint32x4_t> both = {two_bf16(p), two_bf16(p + 8), two_bf16(p + 16),
                                   two_bf16(p + 24)};
    even = each(both, [](auto q) { return vreinterpretq_f32_u32(vshlq_n_u32(q, 16)); });
    odd = each(
        both, [](auto q) { return vreinterpretq_f32_u32(vandq_u32(q, vdupq_n_u32(0xffff0000u))); });
  }

  // With mixed signs, the bias cancels the weights' offset. Otherwise weights have no offset.
  static I first_dot(int32_t bias) { return all(vdupq_n_s32(kMixedSigns ? bias : 0)); }
  static I add_bias(I sum, int32_t bias) {
    if constexpr (!kMixedSigns) return sum;
    return each(sum, [bias](auto p) { return vaddq_s32(p, vdupq_n_s32(bias)); });
  }
  static Weights load_weights(const uint8_t* p) {
    if constexpr (kMixedSigns) return load_codes(p);
    return each(load_codes(p), [](auto q) { return veorq_s8(q, vdupq_n_s8(-128)); });
  }
  static NibbleSums first_nibbles(int32_t bias) { return all(vdupq_n_s32(bias)); }
  static Nibbles load_low(const uint8_t* p) {
    return each(load_codes(p), [](auto q) { return vandq_s8(q, vdupq_n_s8(15)); });
  }
  static Nibbles load_high(const uint8_t* p) {
    return each(load_codes(p),
                [](auto q) { return vreinterpretq_s8_u8(vshrq_n_u8(vreinterpretq_u8_s8(q), 4)); });
  }
  static Nibbles load_codes(const uint8_t* p) {
    return {load_16(p), load_16(p + 16), load_16(p + 32), load_16(p + 48)};
  }
  static I finish_nibbles(const NibbleSums& sums, int32_t) { return sums; }
  template <int kBit, int kMask>
  static Nibbles with_bits(Nibbles w, const uint8_t* plane) {
    return each(w, load_codes(plane), [](auto q, auto bits) {
      uint8x16_t moved = vreinterpretq_u8_s8(bits);
      if constexpr (kBit < 4) moved = vshlq_n_u8(moved, 4 - kBit);
      if constexpr (kBit > 4) moved = vshrq_n_u8(moved, kBit - 4);
      return vorrq_s8(q, vreinterpretq_s8_u8(vandq_u8(moved, vdupq_n_u8(kMask))));
    });
  }
  static Nibbles look_up(Nibbles w, const uint8_t* table) {
    const int8x16_t bytes = load_16(table);
    return each(w, [bytes](auto q) { return vqtbl1q_s8(bytes, vreinterpretq_u8_s8(q)); });
  }
  template <int kOffset>
  static Weights weights_of(Nibbles w) {
    if constexpr (kMixedSigns) return w;
    return each(w, [](auto q) { return vsubq_s8(q, vdupq_n_s8(static_cast<int8_t>(kOffset))); });
  }
  template <int kOffset>
  static void store_codes(uint8_t* p, Nibbles w) {
    constexpr auto kMore = static_cast<int8_t>(128 - kOffset);
    w = each(w, [](auto q) { return vaddq_s8(q, vdupq_n_s8(kMore)); });
    store_16(p, w.a);
    store_16(p + 16, w.b);
    store_16(p + 32, w.c);
    store_16(p + 48, w.d);
  }
  static I load_sums(const float* p) {
    return each(load(p), [](auto q) { return vreinterpretq_s32_f32(q); });
  }
  static void store_sums(float* p, I x) {
    store(p, each(x, [](auto q) { return vreinterpretq_f32_s32(q); }));
  }
  static Quad load_quad(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
  }
  static I dot(I sum, const Weights& w, Quad x) {
    return {dot_four(sum.a, w.a, x), dot_four(sum.b, w.b, x), dot_four(sum.c, w.c, x),
            dot_four(sum.d, w.d, x)};
  }
  static Values load_values(const int8_t* p) {
    return load_codes(reinterpret_cast<const uint8_t*>(p));
  }
  static Shares load_shares(const uint8_t* p) {
    const uint8x16_t q = vreinterpretq_u8_s8(load_quad(reinterpret_cast<const int8_t*>(p)));
    const uint32x4_t sums = vpaddlq_u16(vpaddlq_u8(q));
    return {q, vnegq_s32(vreinterpretq_s32_u32(vshlq_n_u32(sums, 7)))};
  }
  static I dot_shares(I sum, const Values& v, const Shares& p) {
    return {dot_share(sum.a, v.a, p), dot_share(sum.b, v.b, p), dot_share(sum.c, v.c, p),
            dot_share(sum.d, v.d, p)};
  }
  // For RowPairs. Each register: two outputs, the products of two rows for each.
  struct Products {
    Four<int32x4_t> low, high;  // outputs 0-7, 8-15
  };
  struct Interleaved {
    Four<uint8x16_t> low, high;  // two outputs each, their weights of two quads
  };
  static Products no_products() { return {all(vdupq_n_s32(0)), all(vdupq_n_s32(0))}; }
  static Interleaved interleaved(const Weights& i, const Weights& j) {
    return {{zip<1>(i.a, j.a), zip<2>(i.a, j.a), zip<1>(i.b, j.b), zip<2>(i.b, j.b)},
            {zip<1>(i.c, j.c), zip<2>(i.c, j.c), zip<1>(i.d, j.d), zip<2>(i.d, j.d)}};
  }
  // Two quads of one row, and two of another.
  static int8x16_t load_quads(const int8_t* i, const int8_t* j, const int8_t* second_i,
                              const int8_t* second_j) {
    int32_t quads[4];
    __builtin_memcpy(&quads[0], i, 4);
    __builtin_memcpy(&quads[1], j, 4);
    __builtin_memcpy(&quads[2], second_i, 4);
    __builtin_memcpy(&quads[3], second_j, 4);
    return vreinterpretq_s8_s32(vld1q_s32(quads));
  }
  static Products add_products(const Products& sums, const Interleaved& w, int8x16_t x) {
    return {add_four(sums.low, w.low, x), add_four(sums.high, w.high, x)};
  }
  static I add_row(I dots, const Products& sums, int row) {
    return {vaddq_s32(dots.a, of_row(sums.low.a, sums.low.b, row)),
            vaddq_s32(dots.b, of_row(sums.low.c, sums.low.d, row)),
            vaddq_s32(dots.c, of_row(sums.high.a, sums.high.b, row)),
            vaddq_s32(dots.d, of_row(sums.high.c, sums.high.d, row))};
  }
  static F to_float(I x) {
    return each(x, [](auto q) { return vcvtq_f32_s32(q); });
  }
  static void store_s8(int8_t* p, F x) { store_bytes(reinterpret_cast<uint8_t*>(p), x); }
  static void store_u8(uint8_t* p, F x) { store_bytes(p, x); }

 private:
  template <class V>
  static Four<V> all(V x) {
    return {x, x, x, x};
  }
  template <class V, class Op>
  [[gnu::always_inline]] static auto each(const Four<V>& x, const Op& op) {
    return Four<decltype(op(x.a))>{op(x.a), op(x.b), op(x.c), op(x.d)};
  }
  template <class V, class W, class Op>
  [[gnu::always_inline]] static auto each(const Four<V>& x, const Four<W>& y, const Op& op) {
    return Four<decltype(op(x.a, y.a))>{op(x.a, y.a), op(x.b, y.b), op(x.c, y.c), op(x.d, y.d)};
  }

  // The maximum instructions treat NaN and signed zeros differently.
  static float32x4_t greater(float32x4_t x, float32x4_t y) {
    return vbslq_f32(vcgtq_f32(x, y), x, y);
  }
  static uint32x4_t below(int n) {
    constexpr int32_t kLanes[4] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(kLanes), vdupq_n_s32(n));
  }
  static float32x4_t load_some(const float* p, int n) {
    if (n >= 4) return vld1q_f32(p);
    float32x4_t x = vdupq_n_f32(0.0f);
    if (n > 0) x = vld1q_lane_f32(p, x, 0);
    if (n > 1) x = vld1q_lane_f32(p + 1, x, 1);
    if (n > 2) x = vld1q_lane_f32(p + 2, x, 2);
    return x;
  }
  static void store_some(float* p, float32x4_t x, int n) {
    if (n >= 4) return vst1q_f32(p, x);
    if (n > 0) vst1q_lane_f32(p, x, 0);
    if (n > 1) vst1q_lane_f32(p + 1, x, 1);
    if (n > 2) vst1q_lane_f32(p + 2, x, 2);
  }
  static float32x4_t widen_f16(const uint16_t* p) {
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
  }
  static float32x4_t widen_bf16(const uint16_t* p) {
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16));
  }
  static uint32x4_t two_bf16(const uint16_t* p) { return vreinterpretq_u32_u16(vld1q_u16(p)); }
  static uint16x4_t narrow_bf16(float32x4_t x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x400000));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, quiet), 16);
  }
  static Four<uint32x4_t> widen_u8(const uint8_t* p) {
    const uint8x16_t bytes = vld1q_u8(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
    return {vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low), vmovl_u16(vget_low_u16(high)),
            vmovl_high_u16(high)};
  }
  static int8x16_t load_16(const uint8_t* p) { return vreinterpretq_s8_u8(vld1q_u8(p)); }
  static void store_16(uint8_t* p, int8x16_t x) { vst1q_u8(p, vreinterpretq_u8_s8(x)); }
  // Lowest bytes of the values, rounded to nearest even.
  static void store_bytes(uint8_t* p, F x) {
    const auto words = [](float32x4_t low, float32x4_t high) {
      return vmovn_high_s32(vmovn_s32(vcvtnq_s32_f32(low)), vcvtnq_s32_f32(high));
    };
    store_16(p, vmovn_high_s16(vmovn_s16(words(x.a, x.b)), words(x.c, x.d)));
  }

  template <int kPart>
  static uint8x16_t zip(int8x16_t i, int8x16_t j) {
    const int32x4_t x = vreinterpretq_s32_s8(i), y = vreinterpretq_s32_s8(j);
    return vreinterpretq_u8_s32(kPart == 1 ? vzip1q_s32(x, y) : vzip2q_s32(x, y));
  }
  static int32x4_t of_row(int32x4_t first, int32x4_t next, int row) {
    return row == 0 ? vuzp1q_s32(first, next) : vuzp2q_s32(first, next);
  }
  static Four<int32x4_t> add_four(const Four<int32x4_t>& sums, const Four<uint8x16_t>& w,
                                  int8x16_t x) {
    return {multiply(sums.a, w.a, x), multiply(sums.b, w.b, x), multiply(sums.c, w.c, x),
            multiply(sums.d, w.d, x)};
  }
  static int32x4_t multiply(int32x4_t sums, [[maybe_unused]] uint8x16_t w,
                            [[maybe_unused]] int8x16_t x) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    if constexpr (kMixedSigns) return vusmmlaq_s32(sums, w, x);
#endif
    return sums;
  }

  // Four sums of four products. Without sdot, weights and activations of at most 128 and 127 let
  // 16 bits hold the sum of two products.
  static int32x4_t dot_four(int32x4_t sum, int8x16_t w, Quad x) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    if constexpr (kMixedSigns) return vusdotq_s32(sum, vreinterpretq_u8_s8(w), x);
#endif
#if defined(__ARM_FEATURE_DOTPROD)
    if constexpr (kDotProducts) return vdotq_s32(sum, w, x);
#endif
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
    return vpadalq_s16(sum, vpaddq_s16(low, high));
  }
  static int32x4_t dot_share(int32x4_t sum, int8x16_t v, const Shares& p) {
#if defined(__ARM_FEATURE_MATMUL_INT8)
    if constexpr (kMixedSigns) return vusdotq_s32(sum, p.q, v);
#endif
#if defined(__ARM_FEATURE_DOTPROD)
    if constexpr (kDotProducts) {  // values + 128; `minus` removes the surplus
      const uint8x16_t values = veorq_u8(vreinterpretq_u8_s8(v), vdupq_n_u8(128));
      const uint32x4_t before = vreinterpretq_u32_s32(vaddq_s32(sum, p.minus));
      return vreinterpretq_s32_u32(vdotq_u32(before, p.q, values));
    }
#endif
    const auto wide = [](uint8x8_t q) { return vreinterpretq_s16_u16(vmovl_u8(q)); };
    const int16x8_t low = vmulq_s16(vmovl_s8(vget_low_s8(v)), wide(vget_low_u8(p.q)));
    const int16x8_t high = vmulq_s16(vmovl_high_s8(v), wide(vget_high_u8(p.q)));
    return vaddq_s32(sum, vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high)));
  }
};

using SimdNeon = SimdNeonOf<false, false>;
using SimdDotProd = SimdNeonOf<true, false>;
using SimdI8mm = SimdNeonOf<true, true>;

}  // namespace pando::kernel
