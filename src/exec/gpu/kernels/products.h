// Matrix products: docs/arithmetic.md, "Matrix products".
#pragma once

#include "exec/gpu/kernels/pieces.h"

#define GROUP_LEN 32          // inputs that share a scale
#define LEAST_AMAX 0x1p-100f  // below it a group is all zeros

// The integer of x times factor, which is 127 over the largest magnitude; NaN gives 127.
DEVICE s32 rounded_(float x, float factor) {
  const float y = ROUND_EVEN(mul(x, factor));
  return y <= 127.0f ? (y < -127.0f ? -127 : TO_S32(y)) : 127;
}

// Rows of k inputs become groups of integers: q [n_groups of all rows][8] words, scales and z (the
// scale times the sum of the integers). A thread has a group, whose last ones are zeros.
KERNEL(256)
void quantise_groups(const GLOBAL float* x, GLOBAL u32* q, GLOBAL float* scales, GLOBAL float* z,
                     s32 n_rows, s32 k, s32 n_groups) {
  const s32 at = GROUP(0) * 256 + THREAD;
  if (at >= n_rows * n_groups) return;
  const s32 first = at % n_groups * GROUP_LEN, n = k - first < GROUP_LEN ? k - first : GROUP_LEN;
  const GLOBAL float* const values = x + (u64)(at / n_groups) * k + first;
  float amax = 0.0f;
  for (s32 i = 0; i < n; ++i)
    if (!(ABSF(values[i]) <= amax)) amax = ABSF(values[i]);
  if (amax < LEAST_AMAX) amax = 0.0f;
  const float factor = amax == 0.0f ? 0.0f : DIV(127.0f, amax), scale = DIV(amax, 127.0f);
  s32 sum = 0;
  for (s32 word = 0; word < 8; ++word) {
    u32 bytes = 0;
    for (s32 i = 0; i < 4; ++i) {
      const s32 integer = word * 4 + i < n ? rounded_(values[word * 4 + i], factor) : 0;
      sum += integer;
      bytes |= (u32)(integer & 255) << (8 * i);
    }
    q[(u64)at * 8 + word] = bytes;
  }
  scales[at] = scale;
  z[at] = mul(scale, (float)sum);
}
