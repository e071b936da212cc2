// AVX-512 with products of pairs of bf16. Only for translation units compiled with BF16 besides
// what simd_avx512.h needs.
#pragma once

#include "exec/cpu/kernel/cpu/simd_avx512.h"

namespace pando::kernel {

struct SimdAvx512Bf16 : SimdAvx512 {
  static constexpr bool kDotsBf16 = true;

  using Pairs = __m512bh;  // [16][2]

  static Pairs load_pairs(const void* p) { return (Pairs)_mm512_loadu_si512(p); }
  static Pairs set1_pair(uint32_t pair) { return (Pairs)_mm512_set1_epi32(static_cast<int>(pair)); }
  // fma(a[0], b[0], fma(a[1], b[1], acc)); denormal numbers count as zero.
  static F dot_bf16(F acc, Pairs a, Pairs b) { return _mm512_dpbf16_ps(acc, a, b); }
};

}  // namespace pando::kernel
