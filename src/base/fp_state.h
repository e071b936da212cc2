// The floating-point state in which every kernel runs: round to nearest even, subnormals kept.
// A host program may have set other modes (fast-math start-up code does); results must not follow.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pando {

class FpStateGuard {
 public:
#if defined(__x86_64__)
  // Saves two control words: that of SSE, and that of the x87, by which the C library's strtod
  // rounds.
  FpStateGuard() : saved_(_mm_getcsr()) {
    constexpr uint16_t kDefault = 0x037f;
    _mm_setcsr(0x1f80);
    asm volatile("fnstcw %0\n\tfldcw %1" : "=m"(saved_x87_) : "m"(kDefault));
  }
  ~FpStateGuard() {
    _mm_setcsr(saved_);
    asm volatile("fldcw %0" : : "m"(saved_x87_));
  }
#else
  FpStateGuard() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FpStateGuard() { std::fesetenv(&saved_); }
#endif
  FpStateGuard(const FpStateGuard&) = delete;
  FpStateGuard& operator=(const FpStateGuard&) = delete;

 private:
#if defined(__x86_64__)
  unsigned saved_;
  uint16_t saved_x87_;
#else
  std::fenv_t saved_;
#endif
};

}  // namespace pando
