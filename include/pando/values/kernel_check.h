// Result of comparing one kind of a device's kernels with plain loops.
#pragma once

#include <cstdint>
#include <string>

namespace pando {

struct KernelCheck {
  std::string name;  // "products of q8_0"
  uint64_t n_cases = 0;
  uint64_t n_different = 0;  // cases with any bit unlike `scalar`
};

}  // namespace pando
