// The floating-point state in which every kernel runs: round to nearest even, subnormals kept.
// A host program may have set other modes (fast-math start-up code does); results must not follow.
#pragma once

#include <cfenv>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace pando {

class FpStateGuard {
 public:
#if defined(__x86_64__)
  FpStateGuard() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~FpStateGuard() { _mm_setcsr(saved_); }
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
#else
  std::fenv_t saved_;
#endif
};

}  // namespace pando
