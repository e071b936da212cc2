// Sixteen f32 lanes in two AVX2 registers. Same contract, same bits as simd_portable.h.
// Only for translation units compiled with AVX2, FMA and F16C.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace pando::kernel {

struct SimdAvx2 {
  static constexpr int kRegisters = 16;
  static constexpr bool kDotsBf16 = false;
  static constexpr bool kDotsBytes = false;
  static constexpr bool kPairsQuads = true;
  static constexpr bool kPairsRows = false;
  static constexpr bool kTiles = false;

  struct F {
    __m256 lo, hi;  // lanes 0-7, 8-15
  };
  struct I {
    __m256i lo, hi;
  };
  struct Weights {
    I values, magnitudes;  // [16][4] s8, and u8
  };
  struct Nibbles {
    __m256i lo, hi;  // [16][4] u8 below 16, or 64 where bits were added
  };
  // [16][2] s16: a pair of products is at most 2 * 15 * 127, and a group of 32 has eight of them,
  // 30,480 in all. Two instructions for 32 products, where bytes take four.
  struct NibbleSums {
    __m256i lo, hi;
  };
  using Quad = __m256i;  // four s8, eight times
  struct Values {
    I even, odd;  // [16][2] s16 each: with u8 factors products do not fit vpmaddubsw's 16 bits
  };
  struct Shares {
    __m256i even, odd;  // two u8 in 16 bits each, eight times
  };

  static F zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static F set1(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static F load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, F x) {
    _mm256_storeu_ps(p, x.lo);
    _mm256_storeu_ps(p + 8, x.hi);
  }
  static F load_first(const float* p, int n) {
    if (n >= 16) return load(p);
    const I mask = first(n);
    return {_mm256_maskload_ps(p, mask.lo),
            n > 8 ? _mm256_maskload_ps(p + 8, mask.hi) : _mm256_setzero_ps()};
  }
  static void store_first(float* p, F x, int n) {
    if (n >= 16) return store(p, x);
    const I mask = first(n);
    _mm256_maskstore_ps(p, mask.lo, x.lo);
    if (n > 8) _mm256_maskstore_ps(p + 8, mask.hi, x.hi);
  }

  static F add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static F sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static F mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static F div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static F fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static F max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static F min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  static F abs(F a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return {_mm256_andnot_ps(sign, a.lo), _mm256_andnot_ps(sign, a.hi)};
  }
  static F select_first(int n, F a, F b) {
    const I mask = first(n);
    return {_mm256_blendv_ps(b.lo, a.lo, _mm256_castsi256_ps(mask.lo)),
            _mm256_blendv_ps(b.hi, a.hi, _mm256_castsi256_ps(mask.hi))};
  }
  static F select_less(F a, F b, F yes, F no) {
    return {_mm256_blendv_ps(no.lo, yes.lo, _mm256_cmp_ps(a.lo, b.lo, _CMP_LT_OQ)),
            _mm256_blendv_ps(no.hi, yes.hi, _mm256_cmp_ps(a.hi, b.hi, _CMP_LT_OQ))};
  }
  static F round(F a) {
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a.lo, kMode), _mm256_round_ps(a.hi, kMode)};
  }
  static F scale_by_pow2(F x, F n) { return {scale_half(x.lo, n.lo), scale_half(x.hi, n.hi)}; }

  static float reduce_add(F a) {
    const __m256 r8 = _mm256_add_ps(a.lo, a.hi);
    const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
  }
  static float reduce_max(F a) {
    const __m256 r8 = _mm256_max_ps(a.lo, a.hi);
    const __m128 r4 = _mm_max_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    const __m128 r2 = _mm_max_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_max_ss(r2, _mm_movehdup_ps(r2)));
  }

  static F load_f16(const uint16_t* p) {
    return {_mm256_cvtph_ps(load_128(p)), _mm256_cvtph_ps(load_128(p + 8))};
  }
  static F load_u8(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static F load_s8(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)),
            _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(bytes, 8)))};
  }
  static F load_powers(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {power_of(bytes), power_of(_mm_srli_si128(bytes, 8))};
  }
  static F load_bf16(const uint16_t* p) {
    return {widen_bf16(load_128(p)), widen_bf16(load_128(p + 8))};
  }
  static void store_f16(uint16_t* p, F x) {
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    store_128(p, _mm256_cvtps_ph(x.lo, kMode));
    store_128(p + 8, _mm256_cvtps_ph(x.hi, kMode));
  }
  static void store_bf16(uint16_t* p, F x) {
    // packus works within 128-bit halves; the permutation puts the quarters back in order.
    const __m256i packed = _mm256_packus_epi32(narrow_bf16(x.lo), narrow_bf16(x.hi));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xd8));
  }
  static void load_bf16_pair(const uint16_t* p, F& a, F& b) {
    const __m256i high = _mm256_set1_epi32(static_cast<int>(0xffff0000u));
    const __m256i lo = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i hi = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 16));
    a = {_mm256_castsi256_ps(_mm256_slli_epi32(lo, 16)),
         _mm256_castsi256_ps(_mm256_slli_epi32(hi, 16))};
    b = {_mm256_castsi256_ps(_mm256_and_si256(lo, high)),
         _mm256_castsi256_ps(_mm256_and_si256(hi, high))};
  }

  static I first_dot(int32_t) { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static Weights load_weights(const uint8_t* p) {
    const __m256i offset = _mm256_set1_epi8(-128);
    return with_magnitudes(
        {_mm256_xor_si256(load_256(p), offset), _mm256_xor_si256(load_256(p + 32), offset)});
  }
  static NibbleSums first_nibbles(int32_t) {
    return {_mm256_setzero_si256(), _mm256_setzero_si256()};
  }
  static Nibbles load_low(const uint8_t* p) {
    return {low_half(load_256(p)), low_half(load_256(p + 32))};
  }
  static Nibbles load_high(const uint8_t* p) {
    return {high_half(load_256(p)), high_half(load_256(p + 32))};
  }
  static I finish_nibbles(const NibbleSums& sums, int32_t bias) {
    const __m256i ones = _mm256_set1_epi16(1), all = _mm256_set1_epi32(bias);
    return {_mm256_add_epi32(_mm256_madd_epi16(sums.lo, ones), all),
            _mm256_add_epi32(_mm256_madd_epi16(sums.hi, ones), all)};
  }
  template <int kBit, int kMask>
  static Nibbles with_bits(Nibbles w, const uint8_t* plane) {
    return {with_bits_half<kBit, kMask>(w.lo, load_256(plane)),
            with_bits_half<kBit, kMask>(w.hi, load_256(plane + 32))};
  }
  static Nibbles look_up(Nibbles w, const uint8_t* table) {
    const __m256i all =
        _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
    return {_mm256_shuffle_epi8(all, w.lo), _mm256_shuffle_epi8(all, w.hi)};
  }
  template <int kOffset>
  static Weights weights_of(Nibbles w) {
    const __m256i offset = _mm256_set1_epi8(static_cast<char>(kOffset));
    return with_magnitudes({_mm256_sub_epi8(w.lo, offset), _mm256_sub_epi8(w.hi, offset)});
  }
  template <int kOffset>
  static void store_codes(uint8_t* p, Nibbles w) {
    const __m256i offset = _mm256_set1_epi8(static_cast<char>(128 - kOffset));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_add_epi8(w.lo, offset));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), _mm256_add_epi8(w.hi, offset));
  }
  // Sums of two quads of codes below 64 each: a pair of products is at most 2 * 63 * 127, and two
  // pairs are 32,004, so that 16 bits hold them.
  static I first_pair(int32_t bias) { return {_mm256_set1_epi32(bias), _mm256_set1_epi32(bias)}; }
  static Nibbles load_codes(const uint8_t* p) { return {load_256(p), load_256(p + 32)}; }
  static I dot_pair(I sum, const Nibbles& w, Quad a, const Nibbles& v, Quad b) {
    return {dot_pair_half(sum.lo, w.lo, a, v.lo, b), dot_pair_half(sum.hi, w.hi, a, v.hi, b)};
  }
  static I load_sums(const float* p) { return {load_256(p), load_256(p + 8)}; }
  static void store_sums(float* p, I x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), x.lo);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), x.hi);
  }
  static I add_bias(I sum, int32_t) { return sum; }
  static Quad load_quad(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm256_set1_epi32(four);
  }
  static I dot(I sum, const Weights& w, Quad a) {
    return {dot_half(sum.lo, w.values.lo, w.magnitudes.lo, a),
            dot_half(sum.hi, w.values.hi, w.magnitudes.hi, a)};
  }
  static NibbleSums dot(NibbleSums sums, const Nibbles& w, Quad a) {
    return {dot_nibbles(sums.lo, w.lo, a), dot_nibbles(sums.hi, w.hi, a)};
  }
  static Values load_values(const int8_t* p) {
    const __m256i lo = load_256(p), hi = load_256(p + 32);
    return {{_mm256_srai_epi16(_mm256_slli_epi16(lo, 8), 8),
             _mm256_srai_epi16(_mm256_slli_epi16(hi, 8), 8)},
            {_mm256_srai_epi16(lo, 8), _mm256_srai_epi16(hi, 8)}};
  }
  static Shares load_shares(const uint8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    const __m256i all = _mm256_set1_epi32(four);
    return {_mm256_and_si256(all, _mm256_set1_epi16(255)), _mm256_srli_epi16(all, 8)};
  }
  static I dot_shares(I sum, const Values& v, const Shares& p) {
    return {add_shares(sum.lo, v.even.lo, v.odd.lo, p), add_shares(sum.hi, v.even.hi, v.odd.hi, p)};
  }
  static F to_float(I a) { return {_mm256_cvtepi32_ps(a.lo), _mm256_cvtepi32_ps(a.hi)}; }
  static void store_s8(int8_t* p, F x) {
    // packs works within 128-bit halves; the permutation puts the quarters back in order.
    const __m256i halves = _mm256_packs_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi));
    const __m256i words = _mm256_permute4x64_epi64(halves, 0xd8);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
  }
  static void store_u8(uint8_t* p, F x) {
    const __m256i halves = _mm256_packus_epi32(_mm256_cvtps_epi32(x.lo), _mm256_cvtps_epi32(x.hi));
    const __m256i words = _mm256_permute4x64_epi64(halves, 0xd8);
    const __m128i bytes =
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), bytes);
  }

 private:
  static __m256i add_shares(__m256i sum, __m256i even, __m256i odd, const Shares& p) {
    const __m256i products =
        _mm256_add_epi32(_mm256_madd_epi16(even, p.even), _mm256_madd_epi16(odd, p.odd));
    return _mm256_add_epi32(sum, products);
  }
  static I first(int n) {
    const __m256i count = _mm256_set1_epi32(n);
    const __m256i iota = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {_mm256_cmpgt_epi32(count, iota),
            _mm256_cmpgt_epi32(count, _mm256_add_epi32(iota, _mm256_set1_epi32(8)))};
  }
  // |w| * (a with the sign of w): |w| is at most 128 and |a| 127, so that pairs of products stay
  // below 2^15 and maddubs never saturates. Not intrinsics, here and below: GCC 12 would add
  // products of several quads first and spill (Zen 4, one thread, q8_0: 101 against 94 GOP/s).
  // vpsignb goes through the two pipes of vpmaddubsw; q8_0 reaches 75 to 85% of what these allow.
  static __m256i dot_half(__m256i sum, __m256i w, __m256i magnitudes, Quad a) {
    __m256i pairs;
    asm("vpsignb %[w], %[a], %[pairs]\n\t"
        "vpmaddubsw %[pairs], %[magnitudes], %[pairs]\n\t"
        "vpmaddwd %[ones], %[pairs], %[pairs]\n\t"
        "vpaddd %[pairs], %[sum], %[sum]"
        : [sum] "+x"(sum), [pairs] "=&x"(pairs)
        : [w] "x"(w), [magnitudes] "x"(magnitudes), [a] "x"(a), [ones] "x"(_mm256_set1_epi16(1)));
    return sum;
  }
  static __m256i dot_pair_half(__m256i sum, __m256i w, Quad a, __m256i v, Quad b) {
    __m256i first, second;
    asm("vpmaddubsw %[a], %[w], %[first]\n\t"
        "vpmaddubsw %[b], %[v], %[second]\n\t"
        "vpaddw %[second], %[first], %[first]\n\t"
        "vpmaddwd %[ones], %[first], %[first]\n\t"
        "vpaddd %[first], %[sum], %[sum]"
        : [sum] "+x"(sum), [first] "=&x"(first), [second] "=&x"(second)
        : [w] "x"(w), [a] "x"(a), [v] "x"(v), [b] "x"(b), [ones] "xm"(_mm256_set1_epi16(1)));
    return sum;
  }
  static __m256i dot_nibbles(__m256i sum, __m256i w, Quad a) {
    __m256i pairs;
    asm("vpmaddubsw %[a], %[w], %[pairs]\n\t"
        "vpaddw %[pairs], %[sum], %[sum]"
        : [sum] "+x"(sum), [pairs] "=&x"(pairs)
        : [w] "x"(w), [a] "x"(a));
    return sum;
  }
  static __m256 scale_half(__m256 x, __m256 n) {
    const __m256i shift = _mm256_slli_epi32(_mm256_cvttps_epi32(n), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), shift));
  }
  static __m256 widen_bf16(__m128i x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
  }
  static __m256i narrow_bf16(__m256 x) {
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded =
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
  }
  template <int kBit, int kMask>
  static __m256i with_bits_half(__m256i w, __m256i bits) {
    if constexpr (kBit < 4) bits = _mm256_slli_epi16(bits, 4 - kBit);
    if constexpr (kBit > 4) bits = _mm256_srli_epi16(bits, kBit - 4);
    return _mm256_or_si256(w, _mm256_and_si256(bits, _mm256_set1_epi8(kMask)));
  }
  // The first eight bytes as scales.
  static __m256 power_of(__m128i bytes) {
    const __m256i bits = _mm256_slli_epi32(_mm256_cvtepu8_epi32(bytes), 23);
    const __m256i twice = _mm256_max_epu32(bits, _mm256_set1_epi32(0x400000));
    return _mm256_mul_ps(_mm256_castsi256_ps(twice), _mm256_set1_ps(0.5f));
  }
  static Weights with_magnitudes(I w) {
    return {w, {_mm256_abs_epi8(w.lo), _mm256_abs_epi8(w.hi)}};
  }
  static __m256i low_half(__m256i x) { return _mm256_and_si256(x, _mm256_set1_epi8(15)); }
  static __m256i high_half(__m256i x) { return low_half(_mm256_srli_epi16(x, 4)); }
  static __m256i load_256(const void* p) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(p));
  }
  static __m128i load_128(const uint16_t* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static void store_128(uint16_t* p, __m128i x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), x);
  }
};

}  // namespace pando::kernel
