// Order statistics of measured values.
#pragma once

#include <vector>

namespace pando {

// Quantile by the nearest rank: the value that `part` (0 to 1) of the values do not exceed. NaN for
// no values; so is the median.
double quantile(std::vector<double> values, double part);
// The mean of the two in the middle where there is an even number of values.
double median(std::vector<double> values);

}  // namespace pando
