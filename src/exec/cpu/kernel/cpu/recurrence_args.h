// Arguments of the kernels of recurrent layers. Strides count f32 values, from row to row.
#pragma once

#include <cstdint>

#include "exec/cpu/kernel/state_layout.h"

namespace pando::kernel {

// A causal convolution of each channel over consecutive rows of one path.
struct ConvolveArgs {
  // The taps - 1 rows before the first one, the oldest first. A stride of 0 repeats one row.
  const float* history;  // [taps - 1, n]
  int64_t history_stride;
  const float* u;  // [n_rows, n]
  int64_t u_stride;
  const float* w;  // [taps, n], the oldest row's first
  int64_t w_stride;
  const float* bias;  // [n], or null
  int taps;
  int n_rows;
  int n;           // channels
  bool with_silu;  // of the sum
  float* out;      // [n_rows, n]
  int64_t out_stride;
};

// Consecutive rows of one path, against one slice of one head's state
// (exec/cpu/kernel/state_layout.h).
struct RecurrenceArgs {
  const float* from;  // [key_dim, 32]: the state before the first row
  // [key_dim, 32]: the state while rows go by; may be `from`. With `keeps_last` it is in the end
  // the state behind the last row; otherwise that state is not computed.
  float* to;
  bool keeps_last;
  const float* next_from;  // [key_dim, 32] that the next call reads, to be fetched ahead; or null
  int key_dim;
  int n_columns;   // of the slice that the head has, at most 32
  int n_rows;      // at least 1
  const float* k;  // [n_rows, key_dim]: keys, or B of Mamba2
  const float* q;  // [n_rows, key_dim]: queries, or C of Mamba2
  const float* v;  // [n_rows, n_columns]: values, or x of Mamba2
  int64_t stride;  // of k, q and v
  // [n_rows] each: the factor of the old state; beta, or the step d of Mamba2; and for the
  // delta-net the product of key and query.
  const float *alpha, *gain, *dot;
  int64_t factor_stride;
  float skip;  // D of Mamba2
  float* out;  // [n_rows, n_columns]
  int64_t out_stride;
};

}  // namespace pando::kernel
