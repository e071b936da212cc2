// Linear least squares with coefficients that are not negative (Lawson and Hanson, 1974, chapter
// 23), for few columns.
#pragma once

#include <span>
#include <vector>

namespace pando {

// The x >= 0 that makes |a x - b| least. a: [b.size(), n_columns], row by row; b is not empty. A
// column of zeros gets 0.
std::vector<double> non_negative_least_squares(std::span<const double> a, std::span<const double> b,
                                               size_t n_columns);

}  // namespace pando
