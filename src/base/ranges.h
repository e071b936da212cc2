// Ranges of numbers, and how messages name them.
#pragma once

#include <cstdint>
#include <string>

namespace pando {

struct WholeRange {
  int64_t min, max, multiple = 1;
  bool contains(int64_t value) const {
    return value >= min && value <= max && value % multiple == 0;
  }
  std::string text() const;  // "an integer in [1, 16]"
};

struct RealRange {
  const char* text;  // "a number in (0, 1]"
  double min, max;
  bool has_min = false, has_max = true;  // true if the bound belongs to the range
  bool contains(double value) const {
    return (value > min || (has_min && value == min)) && (value < max || (has_max && value == max));
  }
};

}  // namespace pando
