// A device's kernels beside plain loops.
#pragma once

#include <cstdint>
#include <string>

namespace pando {

struct KernelCheck {
  std::string name;  // of what was computed: "products of q8_0"
  uint64_t n_cases = 0;
  uint64_t n_different = 0;  // cases with a bit that differs from `scalar`'s
};

}  // namespace pando
