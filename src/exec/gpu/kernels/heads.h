// Bias, norms and rotation of queries, keys and values: exec/scalar/heads.cc.
#pragma once

#include "exec/gpu/kernels/rows.h"

#define HEAD_THREADS 128
#define HEAD_MOST 512  // channels of a head, whole steps of sums in lanes

// The sum of x, [WHOLE_STEPS(n)], or of its squares. Behind it x may be written.
DEVICE float sum_of_head(const LOCAL float* x, s32 n, s32 squared, LOCAL float* lanes) {
  if (THREAD < 16) lanes[THREAD] = lane_sum(x, x, squared, n, 0.0f);
  BARRIER();
  return sum16_(lanes);
}

DEVICE float rms_factor(const LOCAL float* x, s32 n, float eps, LOCAL float* lanes) {
  return DIV(1.0f, SQRT(add(DIV(sum_of_head(x, n, 1, lanes), (float)n), eps)));
}

// x becomes its norm. weight: [n].
DEVICE void norm_head(LOCAL float* x, const GLOBAL float* weight, s32 n, s32 is_layer_norm,
                      float eps, LOCAL float* lanes) {
  if (is_layer_norm) {
    const float mean = DIV(sum_of_head(x, n, 0, lanes), (float)n);
    for (s32 i = THREAD; i < n; i += HEAD_THREADS) x[i] = sub(x[i], mean);
    BARRIER();
  }
  const float r = rms_factor(x, n, eps, lanes);
  for (s32 i = THREAD; i < n; i += HEAD_THREADS) x[i] = mul(mul(x[i], r), weight[i]);
  BARRIER();
}

// Turns the first 2 * n_pairs channels.
DEVICE void turn_head(LOCAL float* x, const GLOBAL float* cosines, const GLOBAL float* sines,
                      s32 n_pairs) {
  for (s32 i = THREAD; i < n_pairs; i += HEAD_THREADS) {
    const float a = x[i], b = x[i + n_pairs];
    x[i] = FMA(a, cosines[i], -mul(b, sines[i]));
    x[i + n_pairs] = FMA(b, cosines[i], mul(a, sines[i]));
  }
  BARRIER();
}

// all: [n_rows, stride], heads of head_dim channels each: n_heads of queries, gates up to
// first_key, n_kv of keys, then as many of values, or none. GROUP(0) is a row, GROUP(1) one of
// these heads. spare: [n_rows, n_kv, head_dim], values that are the keys before norm and rotation,
// or null. cosines, sines: [context, n_pairs]; growth: [n_rows] factors of queries, or null.
KERNEL(HEAD_THREADS)
void head_project(GLOBAL float* all, const GLOBAL float* bias, const GLOBAL float* q_norm,
                  const GLOBAL float* k_norm, const GLOBAL float* cosines,
                  const GLOBAL float* sines, const GLOBAL u32* positions,
                  const GLOBAL float* growth, GLOBAL float* spare, u64 stride, s32 n_heads,
                  s32 first_key, s32 n_kv, s32 head_dim, s32 n_pairs, s32 norm, s32 norms_values,
                  float eps) {
  SHARED(float, x, [HEAD_MOST]);
  SHARED(float, lanes, [32]);  // those of values are the last
  const s32 row = GROUP(0), head = GROUP(1);
  const s32 is_query = head < n_heads, key = head - first_key, is_key = key >= 0 && key < n_kv;
  GLOBAL float* own = all + (u64)row * stride + (u64)(head * head_dim);
  for (s32 i = THREAD; i < WHOLE_STEPS(head_dim); i += HEAD_THREADS) {
    x[i] = i < head_dim ? own[i] : 0.0f;
    if (bias && i < head_dim) x[i] = add(x[i], bias[head * head_dim + i]);
  }
  BARRIER();
  float factor = 1.0f;
  if (key >= n_kv || (is_key && spare)) {  // values
    GLOBAL float* to = is_key ? spare + ((u64)row * n_kv + key) * head_dim : own;
    const float r = norms_values ? rms_factor(x, head_dim, eps, lanes + 16) : 1.0f;
    for (s32 i = THREAD; i < head_dim; i += HEAD_THREADS) to[i] = mul(x[i], r);
    if (!is_key) return;
    BARRIER();  // before others turn x
  }
  if (is_query || is_key) {
    const s32 is_layer_norm = norm == NORM_LAYER_PER_HEAD;
    const GLOBAL float* weight = is_query ? q_norm : k_norm;
    if (is_layer_norm) weight += (is_query ? head : key) * head_dim;
    if (norm == NORM_RMS || is_layer_norm)
      norm_head(x, weight, head_dim, is_layer_norm, eps, lanes);
    turn_head(x, cosines + (u64)positions[row] * n_pairs, sines + (u64)positions[row] * n_pairs,
              n_pairs);
    if (norm == NORM_RMS_TURNED) norm_head(x, weight, head_dim, 0, eps, lanes);
    if (is_query && growth) factor = growth[row];
  }
  for (s32 i = THREAD; i < head_dim; i += HEAD_THREADS) own[i] = mul(x[i], factor);
}

// attended: [n_rows, n]; gates: columns [n, 2 n) of all.
KERNEL(ROW_THREADS)
void head_gate(const GLOBAL float* all, GLOBAL float* attended, u64 stride, s32 n) {
  const GLOBAL float* gates = all + (u64)GROUP(0) * stride + n;
  GLOBAL float* row = attended + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) row[i] = mul(row[i], sigmoid_(gates[i]));
}
