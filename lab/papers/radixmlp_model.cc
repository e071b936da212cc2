#include "lab/papers/radixmlp_model.h"

namespace pando::lab {

double shared_prefix_ratio(int batch, int prefix, int suffix) {
  return static_cast<double>(batch) * (prefix + suffix) /
         (prefix + static_cast<double>(batch) * suffix);
}

double position_wise_part(const RadixShape& shape) {
  const double d = shape.d_model;
  const double position_wise = 8 * d * d + 6 * d * shape.d_ff;
  return position_wise / (position_wise + 4 * d * shape.length);
}

double predicted_speedup(double f_c, double r) { return 1 / ((1 - f_c) + f_c / r); }

}  // namespace pando::lab
