// Rows that lie further apart than they are wide, as queries do beside keys and values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace pando::kernel {

// dense: [n_rows, width]. Between the rows are five values that are no numbers.
inline std::vector<float> spread_rows(const std::vector<float>& dense, size_t n_rows) {
  if (n_rows == 0) return {};
  const size_t width = dense.size() / n_rows, stride = width + 5;
  std::vector<float> spread(n_rows * stride, NAN);
  for (size_t row = 0; row < n_rows; ++row)
    std::copy_n(&dense[row * width], width, &spread[row * stride]);
  return spread;
}

}  // namespace pando::kernel
