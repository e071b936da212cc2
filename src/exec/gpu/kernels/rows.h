// Norms, residuals, activations and logits: exec/scalar/rows.cc, feed_forward.cc, forward_pass.cc.
// GROUP(0) is a row. Rows are [n_rows, stride] f32.
#pragma once

#include "exec/gpu/kernels/codes.h"
#include "exec/gpu/kernels/pieces.h"

#define ROW_THREADS 128
#define GREATEST_THREADS 256
#define ROW_STAGE 2048  // columns in shared memory at once

// Loops over the columns of part GROUP(1) of a row.
#define EACH_COLUMN(i, n)                                                              \
  for (s32 i = GROUP(1) * ROW_PART + THREAD; i < (n) && i < (GROUP(1) + 1) * ROW_PART; \
       i += ROW_THREADS)

// Sums in lanes take x in whole steps, padded with zeros, so that many loads run at once. Zeros can
// only change the sign of a zero sum, and no caller sees it.
#define LANE_STEP 256
#define WHOLE_STEPS(n) (((n) + LANE_STEP - 1) / LANE_STEP * LANE_STEP)

// Continues lane THREAD of the sum of x[i], or of x[i] y[i] if of_products. x, y: [WHOLE_STEPS(n)].
DEVICE float lane_sum(const LOCAL float* x, const LOCAL float* y, s32 of_products, s32 n,
                      float lane) {
  for (s32 begin = THREAD; begin < n; begin += LANE_STEP)
    UNROLL for (s32 i = begin; i < begin + LANE_STEP; i += 16) lane =
        FMA(x[i], of_products ? y[i] : 1.0f, lane);
  return lane;
}

// Column i of a row before its norm. bias, x: null if not added.
DEVICE float norm_input(const GLOBAL float* y, const GLOBAL float* bias, const GLOBAL float* x,
                        float factor, s32 i) {
  const float value = bias ? add(y[i], bias[i]) : y[i];
  return x ? add(x[i], mul(value, factor)) : value;
}

// Writes columns [first, first + n) of x, by the mode. weight: [n], then a bias [n] if
// has_norm_bias; null if there is no norm. y may be x, because no other thread reads the columns
// that a thread writes.
KERNEL(ROW_THREADS)
void row_norm(const GLOBAL float* y, const GLOBAL float* bias, const GLOBAL float* weight,
              GLOBAL float* x, u64 stride, s32 first, s32 n, s32 norm, s32 has_norm_bias, s32 mode,
              float eps, float factor) {
  SHARED(float, stage, [ROW_STAGE]);
  SHARED(float, lanes, [16]);
  const GLOBAL float* from = y + (u64)GROUP(0) * stride + first;
  GLOBAL float* to = x + (u64)GROUP(0) * stride + first;
  const GLOBAL float* sum_with = mode == NORM_AFTER_ADD ? to : 0;
  float mean = 0.0f, r = 1.0f;
  // Two sums: of values for the mean (LayerNorm only), and of squares.
  for (s32 squared = norm == NORM_LAYER ? 0 : norm == NORM_NONE ? 2 : 1; squared < 2; ++squared) {
    float lane = 0.0f;
    for (s32 begin = 0; begin < n; begin += ROW_STAGE) {
      const s32 left = n - begin, n_staged = left < ROW_STAGE ? left : ROW_STAGE;
      for (s32 i = THREAD; i < WHOLE_STEPS(n_staged); i += ROW_THREADS)
        stage[i] =
            i < n_staged ? sub(norm_input(from, bias, sum_with, factor, begin + i), mean) : 0.0f;
      BARRIER();
      if (THREAD < 16) lane = lane_sum(stage, stage, squared, n_staged, lane);
      BARRIER();
    }
    if (THREAD < 16) lanes[THREAD] = lane;
    BARRIER();
    const float of_each = DIV(sum16_(lanes), (float)n);
    if (squared)
      r = DIV(1.0f, SQRT(add(of_each, eps)));
    else
      mean = of_each;
  }
  for (s32 i = THREAD; i < n; i += ROW_THREADS) {
    float value = norm_input(from, bias, sum_with, factor, i);
    if (norm != NORM_NONE) value = mul(mul(sub(value, mean), r), weight[i]);
    if (has_norm_bias) value = add(value, weight[n + i]);
    to[i] = mode == NORM_THEN_ADD ? add(to[i], mul(value, factor)) : value;
  }
}

KERNEL(ROW_THREADS) void row_bias(const GLOBAL float* bias, GLOBAL float* x, u64 stride, s32 n) {
  GLOBAL float* row = x + (u64)GROUP(0) * stride;
  EACH_COLUMN(i, n) row[i] = add(row[i], bias[i]);
}

KERNEL(ROW_THREADS) void row_scale(GLOBAL float* x, s32 n, float factor) {
  GLOBAL float* row = x + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) row[i] = mul(row[i], factor);
}

KERNEL(ROW_THREADS)
void row_gather(const GLOBAL float* x, const GLOBAL u32* rows, GLOBAL float* y, s32 n) {
  const GLOBAL float* from = x + (u64)rows[GROUP(0)] * n;
  GLOBAL float* row = y + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) row[i] = from[i];
}

DEVICE float activated(s32 activation, float gate, float up, float alpha, float limit) {
  switch (activation) {
    case ACTIVATION_SILU:
      return mul(silu_(gate), up);
    case ACTIVATION_GELU_TANH:
      return mul(gelu_(gate), up);
    case ACTIVATION_GELU_ERF:
      return mul(gelu_erf_(gate), up);
    case ACTIVATION_CLAMPED_SILU:
      return clamped_swiglu_(gate, up, alpha, limit);
    case ACTIVATION_SQUARED_RELU:
      return up < 0.0f ? 0.0f : mul(up, up);
    case ACTIVATION_UNGATED_GELU:
      return gelu_erf_(up);
    default:
      return gelu_(up);
  }
}

// inner: a row has n columns of gate and n of up, or n of up alone. bias: as wide, or null.
KERNEL(ROW_THREADS)
void row_activate(const GLOBAL float* inner, const GLOBAL float* bias, GLOBAL float* active, s32 n,
                  s32 activation, float alpha, float limit) {
  const s32 to_up = activation < ACTIVATION_SQUARED_RELU ? n : 0;
  const GLOBAL float* row = inner + (u64)GROUP(0) * (n + to_up);
  GLOBAL float* out = active + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) {
    float gate = row[i], up = row[i + to_up];
    if (bias) {
      gate = add(gate, bias[i]);
      up = add(up, bias[i + to_up]);
    }
    out[i] = activated(activation, gate, up, alpha, limit);
  }
}

// gates: [n_rows, n]. inputs: [n_rows, width]; the kernel reads n columns from `first` on.
KERNEL(ROW_THREADS)
void row_gate_inputs(GLOBAL float* gates, const GLOBAL float* inputs, s32 n, u64 width, u64 first) {
  GLOBAL float* row = gates + (u64)GROUP(0) * n;
  const GLOBAL float* own = inputs + (u64)GROUP(0) * width + first;
  EACH_COLUMN(i, n) row[i] = mul(gelu_(row[i]), own[i]);
}

// bias: [n], or null. cap: 0 is no cap.
KERNEL(ROW_THREADS)
void row_logits(const GLOBAL float* bias, GLOBAL float* x, s32 n, float divisor, float factor,
                float cap) {
  GLOBAL float* row = x + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) {
    float logit = row[i];
    if (bias) logit = add(logit, bias[i]);
    logit = mul(DIV(logit, divisor), factor);
    row[i] = cap > 0.0f ? soft_cap_(logit, cap) : logit;
  }
}

// Finds the column of each row's largest value; among equal values, the first. NaN is never larger.
// A row that begins with NaN gives column 0, like the engine's sampler.
KERNEL(GREATEST_THREADS)
void row_greatest(const GLOBAL float* x, GLOBAL u32* columns, s32 n) {
  SHARED(float, most, [GREATEST_THREADS]);
  SHARED(u32, column, [GREATEST_THREADS]);
  const GLOBAL float* row = x + (u64)GROUP(0) * n;
  float own = -INFINITE;
  u32 at = ~0u;
  for (s32 i = THREAD; i < n; i += GREATEST_THREADS)
    if (row[i] > own || (row[i] == own && at == ~0u)) {
      own = row[i];
      at = (u32)i;
    }
  most[THREAD] = own;
  column[THREAD] = at;
  for (s32 half_n = GREATEST_THREADS / 2; half_n > 0; half_n /= 2) {
    BARRIER();
    if (THREAD < half_n) {
      const float other = most[THREAD + half_n];
      const u32 other_at = column[THREAD + half_n];
      if (other > own || (other == own && other_at < at)) {
        own = most[THREAD] = other;
        at = column[THREAD] = other_at;
      }
    }
  }
  if (THREAD == 0) columns[GROUP(0)] = IS_NAN(row[0]) ? 0u : at;
}

// sums[rows[r]] += (y[r] + bias) * weights[r]. bias: [n], or null.
KERNEL(ROW_THREADS)
void row_weighted(const GLOBAL float* y, const GLOBAL u32* rows, const GLOBAL float* weights,
                  const GLOBAL float* bias, GLOBAL float* sums, s32 n) {
  const GLOBAL float* row = y + (u64)GROUP(0) * n;
  GLOBAL float* sum = sums + (u64)rows[GROUP(0)] * n;
  EACH_COLUMN(i, n) {
    const float value = bias ? add(row[i], bias[i]) : row[i];
    sum[i] = add(sum[i], mul(value, weights[GROUP(0)]));
  }
}

// y *= sigmoid(h gate). h: [n_rows, n]; gate: [n]; y: [n_rows, y_n].
KERNEL(ROW_THREADS)
void row_gate(const GLOBAL float* h, const GLOBAL float* gate, GLOBAL float* y, s32 n, s32 y_n) {
  SHARED(float, stage, [ROW_STAGE]);
  SHARED(float, gates, [ROW_STAGE]);
  SHARED(float, lanes, [16]);
  const GLOBAL float* row = h + (u64)GROUP(0) * n;
  float lane = 0.0f;
  for (s32 begin = 0; begin < n; begin += ROW_STAGE) {
    const s32 left = n - begin, n_staged = left < ROW_STAGE ? left : ROW_STAGE;
    for (s32 i = THREAD; i < WHOLE_STEPS(n_staged); i += ROW_THREADS) {
      stage[i] = i < n_staged ? row[begin + i] : 0.0f;
      gates[i] = i < n_staged ? gate[begin + i] : 0.0f;
    }
    BARRIER();
    if (THREAD < 16) lane = lane_sum(stage, gates, 1, n_staged, lane);
    BARRIER();
  }
  if (THREAD < 16) lanes[THREAD] = lane;
  BARRIER();
  const float factor = sigmoid_(sum16_(lanes));
  GLOBAL float* out = y + (u64)GROUP(0) * y_n;
  for (s32 i = THREAD; i < y_n; i += ROW_THREADS) out[i] = mul(out[i], factor);
}
