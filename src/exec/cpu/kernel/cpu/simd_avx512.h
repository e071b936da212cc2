// Sixteen f32 lanes in one AVX-512 register. Same contract, same bits as simd_portable.h.
// Only for translation units compiled with F, BW, DQ, VL and VNNI.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace pando::kernel {

struct SimdAvx512 {
  static constexpr int kRegisters = 32;
  static constexpr bool kDotsBf16 = false;
  static constexpr bool kDotsBytes = true;
  static constexpr bool kPairsQuads = false;
  static constexpr bool kPairsRows = false;
  static constexpr bool kTiles = false;

  using F = __m512;
  using I = __m512i;
  using Weights = __m512i;  // [16][4] u8: integers + their offset
  using Nibbles = __m512i;  // [16][4] u8 below 16
  using NibbleSums = I;
  using Quad = __m512i;    // four s8, sixteen times
  using Values = __m512i;  // [16][4] s8
  using Shares = __m512i;  // four u8, sixteen times

  static F zero() { return _mm512_setzero_ps(); }
  static F set1(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static F load_first(const float* p, int n) { return _mm512_maskz_loadu_ps(first(n), p); }
  static void store_first(float* p, F x, int n) { _mm512_mask_storeu_ps(p, first(n), x); }

  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  // Assembly, since GCC 12 spills some of two dozen chains with the intrinsic (Intel with AMX, one
  // thread, 256 rows: f32 180 against 152 GFLOP/s, bf16 170 against 150).
  static F fma(F a, F b, F c) {
    asm("vfmadd231ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  static F select_first(int n, F a, F b) { return _mm512_mask_blend_ps(first(n), b, a); }
  static F select_less(F a, F b, F yes, F no) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
  }
  static F round(F a) {
    return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static F scale_by_pow2(F x, F n) {
    const I shift = _mm512_slli_epi32(_mm512_cvttps_epi32(n), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), shift));
  }

  static float reduce_add(F a) {
    const __m256 r8 = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
  }
  static float reduce_max(F a) {
    const __m256 r8 = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    const __m128 r4 = _mm_max_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
    const __m128 r2 = _mm_max_ps(r4, _mm_movehl_ps(r4, r4));
    return _mm_cvtss_f32(_mm_max_ss(r2, _mm_movehdup_ps(r2)));
  }

  static F load_f16(const uint16_t* p) { return _mm512_cvtph_ps(load_256(p)); }
  static F load_u8(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
  }
  static F load_s8(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes));
  }
  static F load_powers(const uint8_t* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const I bits = _mm512_slli_epi32(_mm512_cvtepu8_epi32(bytes), 23);
    const F twice = _mm512_castsi512_ps(_mm512_max_epu32(bits, _mm512_set1_epi32(0x400000)));
    return _mm512_mul_ps(twice, _mm512_set1_ps(0.5f));
  }
  static F load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_256(p)), 16));
  }
  static void store_f16(uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static void store_bf16(uint16_t* p, F x) {
    const I bits = _mm512_castps_si512(x);
    const I odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const I rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const I quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
    const I kept = _mm512_srli_epi32(_mm512_mask_blend_epi32(nan, rounded, quiet), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(kept));
  }
  static void load_bf16_pair(const uint16_t* p, F& a, F& b) {
    const I both = _mm512_loadu_si512(p);
    a = _mm512_castsi512_ps(_mm512_slli_epi32(both, 16));
    b = _mm512_castsi512_ps(
        _mm512_and_si512(both, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
  }

  // The bias cancels the weights' offset.
  static I first_dot(int32_t bias) { return _mm512_set1_epi32(bias); }
  static Weights load_weights(const uint8_t* p) { return _mm512_loadu_si512(p); }
  static NibbleSums first_nibbles(int32_t bias) { return first_dot(bias); }
  static Nibbles load_low(const uint8_t* p) {
    return _mm512_and_si512(_mm512_loadu_si512(p), _mm512_set1_epi8(15));
  }
  static Nibbles load_high(const uint8_t* p) {
    return _mm512_and_si512(_mm512_srli_epi16(_mm512_loadu_si512(p), 4), _mm512_set1_epi8(15));
  }
  static I finish_nibbles(NibbleSums sums, int32_t) { return sums; }
  template <int kBit, int kMask>
  static Nibbles with_bits(Nibbles w, const uint8_t* plane) {
    I bits = _mm512_loadu_si512(plane);
    if constexpr (kBit < 4) bits = _mm512_slli_epi16(bits, 4 - kBit);
    if constexpr (kBit > 4) bits = _mm512_srli_epi16(bits, kBit - 4);
    return _mm512_ternarylogic_epi32(w, bits, _mm512_set1_epi8(kMask), 0xf8);  // w | (bits & mask)
  }
  static Nibbles look_up(Nibbles w, const uint8_t* table) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(all), w);
  }
  template <int kOffset>
  static Weights weights_of(Nibbles w) {
    return w;
  }
  template <int kOffset>
  static void store_codes(uint8_t* p, Nibbles w) {
    _mm512_storeu_si512(p, _mm512_add_epi8(w, _mm512_set1_epi8(static_cast<char>(128 - kOffset))));
  }
  static I load_sums(const float* p) { return _mm512_loadu_si512(p); }
  static void store_sums(float* p, I x) { _mm512_storeu_si512(p, x); }
  static I add_bias(I sum, int32_t bias) { return _mm512_add_epi32(sum, _mm512_set1_epi32(bias)); }
  static Quad load_quad(const int8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  // Assembly, since GCC 12 spills results of a dozen chains with the intrinsic.
  static I dot(I sum, Weights w, Quad a) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(a));
    return sum;
  }
  static Values load_values(const int8_t* p) { return _mm512_loadu_si512(p); }
  static Shares load_shares(const uint8_t* p) {
    int32_t four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  static I dot_shares(I sum, Values v, Shares p) { return dot(sum, p, v); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static void store_s8(int8_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }
  static void store_u8(uint8_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  }

 private:
  static __mmask16 first(int n) {
    return n <= 0    ? __mmask16{0}
           : n >= 16 ? static_cast<__mmask16>(0xffff)
                     : static_cast<__mmask16>((1u << n) - 1);
  }
  static __m256i load_256(const uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
};

}  // namespace pando::kernel
