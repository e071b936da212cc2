// RadixMLP predicts this of itself (sections 4.3 and A.1).
#pragma once

namespace pando::lab {

// Compression r = N/N' of `batch` sequences with a common prefix and a suffix each (A.1).
double shared_prefix_ratio(int batch, int prefix, int suffix);

struct RadixShape {
  int d_model, d_ff, length;  // of the model; tokens of a sequence
};
// Part of the operations that are position-wise: f_c of 4.3, as published, which counts four square
// projections and attention to all positions.
double position_wise_part(const RadixShape& shape);
// 1 / ((1 - f_c) + f_c / r)
double predicted_speedup(double f_c, double r);

}  // namespace pando::lab
