// Order statistics of measured values.
#pragma once

#include <vector>

namespace pando {

// The value that `part` (0 to 1) of the values do not exceed: that of the nearest rank. Not a
// number where there are none, as for the median.
double quantile(std::vector<double> values, double part);
// The mean of the two in the middle where there is an even number of values.
double median(std::vector<double> values);

}  // namespace pando
