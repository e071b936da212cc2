// Matrix product kernels over a sixteen-lane type S.
#pragma once

#include <cstdint>

namespace pando::kernel {

struct LinearBlockArgs {};

template <class S>
struct LinearBlock {
  static void run(const LinearBlockArgs&) {}
  static void quantize_row(const float*, int, int8_t*, float*) {}
};

}  // namespace pando::kernel
