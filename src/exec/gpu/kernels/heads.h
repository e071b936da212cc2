// Bias, norms and rotation of queries, keys and values: exec/scalar/heads.cc.
#pragma once

#include "exec/gpu/kernels/rows.h"

#define HEAD_THREADS 64
#define HEAD_MOST 512  // channels of a head, at most; a multiple of LANE_STEP

// Rotates the first 2 * n_pairs channels.
DEVICE void turn_head(LOCAL float* x, const GLOBAL float* cosines, const GLOBAL float* sines,
                      s32 n_pairs) {
  for (s32 i = THREAD; i < n_pairs; i += HEAD_THREADS) {
    const float a = x[i], b = x[i + n_pairs];
    x[i] = FMA(a, cosines[i], -mul(b, sines[i]));
    x[i + n_pairs] = FMA(b, cosines[i], mul(a, sines[i]));
  }
}

// GROUP(0) is a row, GROUP(1) one of its heads. all: [n_rows, stride]; a row has heads of head_dim
// channels: n_heads of queries, gates up to first_key, n_kv of keys, then n_kv of values or none.
// spare: [n_rows, n_kv, head_dim] for values that are the keys before norm and rotation, or null.
// cosines, sines: [context, n_pairs]. growth: [n_rows] factors of queries, or null. steps: bits of
// codes.h. norm_stride: distance between the norm weights of two heads.
KERNEL(HEAD_THREADS)
void head_project(GLOBAL float* all, const GLOBAL float* bias, const GLOBAL float* q_norm,
                  const GLOBAL float* k_norm, const GLOBAL float* cosines,
                  const GLOBAL float* sines, const GLOBAL u32* positions,
                  const GLOBAL float* growth, GLOBAL float* spare, u64 stride, s32 n_heads,
                  s32 first_key, s32 n_kv, s32 head_dim, s32 n_pairs, s32 steps, s32 norm_stride,
                  float eps) {
  SHARED(float, x, [HEAD_MOST]);
  SHARED(float, lanes, [16]);
  const s32 row = GROUP(0), head = GROUP(1), key = head - first_key;
  const s32 is_query = head < n_heads, is_key = key >= 0 && key < n_kv, is_value = key >= n_kv;
  const GLOBAL float* weight = is_query ? q_norm + head * norm_stride : k_norm + key * norm_stride;
  const u64 turn = (u64)positions[row] * n_pairs;
  GLOBAL float* own = all + (u64)row * stride + (u64)(head * head_dim);
  GLOBAL float* to_values = is_key && spare ? spare + ((u64)row * n_kv + key) * head_dim : own;
  const s32 turned_steps = is_query || is_key ? steps & ~HEAD_VALUES : 0;
  const s32 own_steps = turned_steps | (is_value || (is_key && spare) ? HEAD_VALUES : 0);
  for (s32 i = THREAD; i < WHOLE_STEPS(head_dim); i += HEAD_THREADS) {
    x[i] = i < head_dim ? own[i] : 0.0f;
    if (bias && i < head_dim) x[i] = add(x[i], bias[head * head_dim + i]);
  }
  BARRIER();
  // Every step from the first to the last meets both barriers, even if the head skips it.
  for (s32 step = own_steps & -own_steps; step != 0 && step <= own_steps; step *= 2) {
    const s32 takes = (own_steps & step) != 0;
    if (takes && step != HEAD_TURN && THREAD < 16)
      lanes[THREAD] = lane_sum(x, x, step != HEAD_SUBTRACT_MEAN, head_dim, 0.0f);
    BARRIER();
    const float of_each = DIV(sum16_(lanes), (float)head_dim);
    const float r = DIV(1.0f, SQRT(add(of_each, eps)));
    if (takes && step == HEAD_TURN) turn_head(x, cosines + turn, sines + turn, n_pairs);
    for (s32 i = THREAD; takes && i < head_dim; i += HEAD_THREADS) {
      if (step == HEAD_VALUES) to_values[i] = (steps & HEAD_VALUES) != 0 ? mul(x[i], r) : x[i];
      if (step == HEAD_SUBTRACT_MEAN) x[i] = sub(x[i], of_each);
      if (step == HEAD_NORM || step == HEAD_NORM_TURNED) x[i] = mul(mul(x[i], r), weight[i]);
    }
    BARRIER();
  }
  const float factor = is_query && growth ? growth[row] : 1.0f;
  for (s32 i = THREAD; !is_value && i < head_dim; i += HEAD_THREADS) own[i] = mul(x[i], factor);
}

// attended: [n_rows, n]; gates: columns [n, 2 n) of all.
KERNEL(ROW_THREADS)
void head_gate(const GLOBAL float* all, GLOBAL float* attended, u64 stride, s32 n) {
  const GLOBAL float* gates = all + (u64)GROUP(0) * stride + n;
  GLOBAL float* row = attended + (u64)GROUP(0) * n;
  EACH_COLUMN(i, n) row[i] = mul(row[i], sigmoid_(gates[i]));
}
