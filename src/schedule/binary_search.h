#pragma once

#include <cstdint>

namespace pando {

// The largest n <= n_most with holds(n), which is true up to some n and false above it; 0 if it is
// never true.
template <class Holds>
uint32_t last_that(uint32_t n_most, const Holds& holds) {
  if (holds(n_most)) return n_most;
  uint32_t low = 0, high = n_most;  // not for high
  while (high - low > 1) {
    const uint32_t middle = low + (high - low) / 2;
    (holds(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace pando
