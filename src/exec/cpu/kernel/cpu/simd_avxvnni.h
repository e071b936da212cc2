// AVX2 with dot products of bytes. Only for translation units compiled with AVX-VNNI besides what
// simd_avx2.h needs.
#pragma once

#include "exec/cpu/kernel/cpu/simd_avx2.h"

namespace pando::kernel {

struct SimdAvxVnni : SimdAvx2 {
  static constexpr bool kDotsBytes = true;
  static constexpr bool kPairsQuads = false;

  using Weights = Nibbles;  // [16][4] u8: integers + their offset
  using NibbleSums = I;
  using Values = Nibbles;  // [16][4] s8
  using Shares = Quad;     // four u8, eight times

  // The bias cancels the weights' offset.
  static I first_dot(int32_t bias) { return {_mm256_set1_epi32(bias), _mm256_set1_epi32(bias)}; }
  static I add_bias(I sum, int32_t bias) {
    const __m256i all = _mm256_set1_epi32(bias);
    return {_mm256_add_epi32(sum.lo, all), _mm256_add_epi32(sum.hi, all)};
  }
  static Weights load_weights(const uint8_t* p) { return load_codes(p); }
  template <int kOffset>
  static Weights weights_of(Nibbles w) {
    return w;
  }
  static I dot(I sum, const Weights& w, Quad a) {
    return {dot_half(sum.lo, w.lo, a), dot_half(sum.hi, w.hi, a)};
  }
  static NibbleSums first_nibbles(int32_t bias) { return first_dot(bias); }
  static I finish_nibbles(NibbleSums sums, int32_t) { return sums; }
  static Values load_values(const int8_t* p) {
    return load_codes(reinterpret_cast<const uint8_t*>(p));
  }
  static Shares load_shares(const uint8_t* p) {
    return load_quad(reinterpret_cast<const int8_t*>(p));
  }
  static I dot_shares(I sum, const Values& v, Shares p) {
    return {dot_half(sum.lo, p, v.lo), dot_half(sum.hi, p, v.hi)};
  }

 private:
  // a: u8, b: s8; sums of four products in 32 bits, which vpdpbusd does not saturate. Assembly, as
  // in SimdAvx2. Assemblers choose the encoding of AVX-512 unless told otherwise.
  static __m256i dot_half(__m256i sum, __m256i a, __m256i b) {
    asm("%{vex%} vpdpbusd %[b], %[a], %[sum]" : [sum] "+x"(sum) : [a] "x"(a), [b] "x"(b));
    return sum;
  }
};

}  // namespace pando::kernel
