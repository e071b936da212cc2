// Inputs of products: docs/arithmetic.md, "Matrix products".
#pragma once

#include "exec/gpu/kernels/pieces.h"

#define GROUP_LEN 32          // inputs that share a scale
#define LEAST_AMAX 0x1p-100f  // groups with a smaller maximum become zeros
#define LEAST_DOT 0x1p-50f    // smaller values of bf16_dot become zero

// x times factor as an integer; NaN gives 127.
DEVICE s32 integer_of(float x, float factor) {
  const float y = ROUND_EVEN(mul(x, factor));
  return y <= 127.0f ? (y < -127.0f ? -127 : TO_S32(y)) : 127;
}

// The largest of `amax` and the magnitudes of x[i] to x[end - 1].
DEVICE float amax_of(const GLOBAL float* x, s32 i, s32 end, float amax) {
  for (; i < end; ++i)
    if (!(ABSF(x[i]) <= amax)) amax = ABSF(x[i]);
  return amax;
}

DEVICE float factor_of(float amax) { return amax == 0.0f ? 0.0f : DIV(127.0f, amax); }

// Integers i to i + 3 as a word; zeros from `end` on.
DEVICE u32 word_of(const GLOBAL float* x, s32 i, s32 end, float factor) {
  u32 word = 0;
  UNROLL for (s32 byte = 0; byte < 4; ++byte) {
    const s32 integer = i + byte < end ? integer_of(x[i + byte], factor) : 0;
    word |= (u32)(integer & 255) << (8 * byte);
  }
  return word;
}

// Turns rows of k inputs into groups of integers. q: [n_rows, n_groups, 8] words. scales, sums:
// [n_rows, n_groups]; a sum is the scale times the sum of the integers. Eight threads share a
// group.
KERNEL(256)
void quantise_groups(const GLOBAL float* x, GLOBAL u32* q, GLOBAL float* scales, GLOBAL float* sums,
                     s32 n_rows, s32 k, s32 n_groups) {
  SHARED(float, largest, [256]);
  SHARED(s32, integers, [256]);
  const s32 part = THREAD & 7, at = GROUP(0) * 32 + (THREAD >> 3);
  const s32 is_group = at < n_rows * n_groups;
  const s32 first = at % n_groups * GROUP_LEN + part * 4;
  const s32 end = first + 4 < k ? first + 4 : k;
  const GLOBAL float* const row = x + (u64)(at / n_groups) * k;
  largest[THREAD] = is_group ? amax_of(row, first, end, 0.0f) : 0.0f;
  BARRIER();
  float amax = 0.0f;
  UNROLL for (s32 i = 0; i < 8; ++i) {
    const float other = largest[(THREAD & 248) + i];
    if (!(other <= amax)) amax = other;
  }
  if (amax < LEAST_AMAX) amax = 0.0f;
  const u32 word = is_group ? word_of(row, first, end, factor_of(amax)) : 0u;
  integers[THREAD] = dot4(word, 0x01010101u, 0);
  BARRIER();
  if (!is_group) return;
  q[(u64)at * 8 + part] = word;
  if (part != 0) return;
  s32 sum = 0;
  UNROLL for (s32 i = 0; i < 8; ++i) sum += integers[THREAD + i];
  const float scale = DIV(amax, 127.0f);
  scales[at] = scale;
  sums[at] = mul(scale, (float)sum);
}

// Turns a row of k inputs into integers with one scale; a work group has one row. q: [n_rows,
// n_words], zeros after the inputs.
KERNEL(256)
void quantise_rows(const GLOBAL float* x, GLOBAL u32* q, GLOBAL float* scales, s32 k, s32 n_words) {
  SHARED(float, largest, [256]);
  SHARED(float, larger, [16]);
  const GLOBAL float* const row = x + (u64)GROUP(0) * k;
  float amax = 0.0f;
  for (s32 i = THREAD; i < k; i += 256) amax = amax_of(row, i, i + 1, amax);
  largest[THREAD] = amax;
  BARRIER();
  if (THREAD < 16) {
    for (s32 i = THREAD; i < 256; i += 16)
      if (!(largest[i] <= amax)) amax = largest[i];
    larger[THREAD] = amax;
  }
  BARRIER();
  for (s32 i = 0; i < 16; ++i)
    if (!(larger[i] <= amax)) amax = larger[i];
  if (amax < LEAST_AMAX) amax = 0.0f;
  const float factor = factor_of(amax);
  for (s32 i = THREAD; i < n_words; i += 256)
    q[(u64)GROUP(0) * n_words + i] = word_of(row, i * 4, k, factor);
  if (THREAD == 0) scales[GROUP(0)] = DIV(amax, 127.0f);
}

// Rounds n inputs of bf16_dot to bf16, four for each thread.
KERNEL(256) void round_for_dot(const GLOBAL float* x, GLOBAL float* y, u64 n) {
  UNROLL for (s32 i = 0; i < 4; ++i) {
    const u64 at = (u64)GROUP(0) * 1024 + i * 256 + THREAD;
    if (at < n) y[at] = ABSF(x[at]) < LEAST_DOT ? 0.0f : WIDEN_BF16(NARROW_BF16(x[at]));
  }
}
