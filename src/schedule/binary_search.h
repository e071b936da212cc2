#pragma once

#include <cstdint>

namespace pando {

// The last n of 0 to n_most of which holds(n), where it holds up to some n and for none after it; 0
// where it never does.
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
