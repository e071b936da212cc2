// The products of products.h for many rows. A work group has 64 rows and 64 outputs; a warp has 32
// rows and 16 outputs. Each half of shared memory holds the words of two groups. The warps read one
// half while they fill the other.
#pragma once

#include "exec/gpu/kernels/products.h"

#define MANY_ROWS 64
#define MANY_OUTPUTS 64
#define MANY_STRIDE 20  // words of a row: 2 groups of 8, and 4 that avoid bank conflicts
#define MANY_HALF 128   // factors of one half: 2 groups of 64
#define MANY_SHARED                                \
  SHARED(u32x4, xs, [2 * MANY_ROWS * 5]);          \
  SHARED(u32x4, ws, [2 * MANY_OUTPUTS * 5]);       \
  SHARED(float, row_factors, [2 * 2 * MANY_HALF]); \
  SHARED(float, tile_factors, [3 * 2 * MANY_HALF])
#define MANY_ARRAYS xs, ws, row_factors, tile_factors

// A thread moves this: 16 bytes of a row and of an output, and factors. Threads 0 to 127 have a
// scale and a sum of a row, the others a scale of an output with its minimum or its two factors.
typedef struct {
  u32x4 x, w;
  float scale, second, third;
} ManyMove;

DEVICE void load_factors(const s32 codes, const GroupProduct* p, s32 g0, ManyMove* move) {
  const s32 g = g0 + (THREAD >> 6 & 1), row = GROUP(0) * MANY_ROWS + (THREAD & 63);
  const s32 output = GROUP(1) * MANY_OUTPUTS + (THREAD & 63);
  move->scale = move->second = move->third = 0.0f;
  if (codes == CODES_ROWS || g >= p->n_groups) return;
  if (THREAD < MANY_HALF) {
    if (row >= p->n_rows) return;
    move->scale = p->x_scales[(u64)row * p->n_groups + g];
    move->second = p->x_sums[(u64)row * p->n_groups + g];
    return;
  }
  if (output >= p->n_outputs) return;
  const u64 at = ((u64)(output >> 3) * p->n_groups + g) * 8 + (output & 7);
  move->scale = half_or_float(p->scales, p->is_half, at);
  if (codes == CODES_SIXES) {
    move->second = half_factor(p->factors[at], 0);
    move->third = half_factor(p->factors[at], 1);
  } else if (p->minima != 0) {
    move->second = half_or_float(p->minima, p->is_half, at);
  }
}

DEVICE void load_move(const s32 codes, const GroupProduct* p, s32 g0, ManyMove* move) {
  const u32x4 zeros = {0, 0, 0, 0};
  const s32 row = GROUP(0) * MANY_ROWS + (THREAD >> 2), part = THREAD & 3;
  move->x = zeros;
  if (row < p->n_rows && g0 + (part >> 1) < p->n_groups)
    move->x = ((const GLOBAL u32x4*)p->x)[((u64)row * p->n_groups + g0) * 2 + part];
  const s32 tile = GROUP(1) * 8 + (THREAD >> 5), g = g0 + (THREAD >> 4 & 1);
  move->w = zeros;
  if (tile * 8 < p->n_outputs && g < p->n_groups)
    move->w = load_half(codes, p, tile, g, THREAD >> 3 & 1, THREAD & 7);
  load_factors(codes, p, g0, move);
}

// turn: the half of shared memory, 0 or 1.
DEVICE void store_move(const ManyMove* move, s32 turn, LOCAL u32x4* xs, LOCAL u32x4* ws,
                       LOCAL float* row_factors, LOCAL float* tile_factors) {
  xs[(turn * MANY_ROWS + (THREAD >> 2)) * 5 + (THREAD & 3)] = move->x;
  const s32 output = (THREAD >> 5) * 8 + (THREAD & 7);
  ws[(turn * MANY_OUTPUTS + output) * 5 + (THREAD >> 3 & 3)] = move->w;
  const s32 at = turn * MANY_HALF + (THREAD & 127);
  if (THREAD < MANY_HALF) {
    row_factors[at] = move->scale;
    row_factors[2 * MANY_HALF + at] = move->second;
  } else {
    tile_factors[at] = move->scale;
    tile_factors[2 * MANY_HALF + at] = move->second;
    tile_factors[4 * MANY_HALF + at] = move->third;
  }
}

// A group's exact sum lies within 2^22. So sums are counted from the bits of 1.5 * 2^23, and the
// difference of the two floats is the sum.
#define SUM_BEGIN 0x4b400000
DEVICE float float_of_sum(s32 sum) { return sub(F32_OF_BITS((u32)sum), 12582912.0f); }

// Adds one group to 16 x 8 outputs of a warp. a, b: the group's words. The factors begin at the
// group's first row and first output.
DEVICE void many_step(const s32 codes, const s32 has_minima, const LOCAL u32* a, const LOCAL u32* b,
                      const LOCAL float* row_factors, const LOCAL float* tile_factors, float* acc) {
  const s32 lane = THREAD & 31;
  s32 c[4] = {SUM_BEGIN, SUM_BEGIN, SUM_BEGIN, SUM_BEGIN};
  s32 second[4] = {SUM_BEGIN, SUM_BEGIN, SUM_BEGIN, SUM_BEGIN};
  if (codes == CODES_SIXES) {
    mma_16x8x16(c, a, b, MANY_STRIDE, lane);
    mma_16x8x16(second, a + 4, b + 4, MANY_STRIDE, lane);
  } else {
    mma_16x8x32(c, a, b, MANY_STRIDE, lane);
  }
  UNROLL for (s32 i = 0; i < 4; ++i) {
    const LOCAL float* const row = row_factors + (lane >> 2) + (i >> 1) * 8;
    const LOCAL float* const tile = tile_factors + (lane & 3) * 2 + (i & 1);
    float sum = float_of_sum(c[i]);
    if (codes == CODES_SIXES)
      sum = FMA(float_of_sum(second[i]), tile[4 * MANY_HALF], mul(sum, tile[2 * MANY_HALF]));
    acc[i] = FMA(sum, mul(row[0], tile[0]), acc[i]);
    if (has_minima) acc[i] = FMA(row[2 * MANY_HALF], tile[2 * MANY_HALF], acc[i]);
  }
}

// Writes 16 x 8 outputs of a warp, from row m and output n on.
DEVICE void many_write(const s32 codes, const GroupProduct* p, s32 m, s32 n, const float* acc,
                       const s32* total) {
  const s32 lane = THREAD & 31;
  UNROLL for (s32 i = 0; i < 4; ++i) {
    const s32 row = m + (lane >> 2) + (i >> 1) * 8, output = n + (lane & 3) * 2 + (i & 1);
    if (row >= p->n_rows || output >= p->n_outputs) continue;
    float value = acc[i];
    if (codes == CODES_ROWS)
      value = FMA((float)total[i], mul(p->x_scales[row], ((const GLOBAL float*)p->scales)[output]),
                  0.0f);
    p->y[(u64)row * p->width + p->first + output] = value;
  }
}

DEVICE void many_rows(const s32 codes, const GroupProduct* p, LOCAL u32x4* xs, LOCAL u32x4* ws,
                      LOCAL float* row_factors, LOCAL float* tile_factors) {
  const s32 warp = THREAD >> 5, m = (warp & 1) * 32, n = (warp >> 1) * 16;
  const s32 has_minima = p->minima != 0;
  float acc[16];
  s32 total[16];
  UNROLL for (s32 i = 0; i < 16; ++i) {
    acc[i] = 0.0f;
    total[i] = 0;
  }
  ManyMove move;
  load_move(codes, p, 0, &move);
  for (s32 g0 = 0, turn = 0; g0 < p->n_groups; g0 += 2, turn ^= 1) {
    store_move(&move, turn, xs, ws, row_factors, tile_factors);
    BARRIER();
    load_move(codes, p, g0 + 2, &move);
    for (s32 g = 0; g < 2 && g0 + g < p->n_groups; ++g) {
      const s32 at = turn * MANY_HALF + g * 64;
      UNROLL for (s32 i = 0; i < 4; ++i) {
        const s32 row = m + (i >> 1) * 16, output = n + (i & 1) * 8;
        const LOCAL u32* a = (const LOCAL u32*)(xs + (turn * MANY_ROWS + row) * 5) + g * 8;
        const LOCAL u32* b = (const LOCAL u32*)(ws + (turn * MANY_OUTPUTS + output) * 5) + g * 8;
        if (codes == CODES_ROWS)
          mma_16x8x32(total + i * 4, a, b, MANY_STRIDE, THREAD & 31);
        else
          many_step(codes, has_minima, a, b, row_factors + at + row, tile_factors + at + output,
                    acc + i * 4);
      }
    }
  }
  UNROLL for (s32 i = 0; i < 4; ++i)
      many_write(codes, p, GROUP(0) * MANY_ROWS + m + (i >> 1) * 16,
                 GROUP(1) * MANY_OUTPUTS + n + (i & 1) * 8, acc + i * 4, total + i * 4);
}

#define GROUP_PRODUCT_KERNELS(name, codes)                 \
  KERNEL(256) void few_##name(GROUP_PRODUCT_PARAMETERS) {  \
    FEW_SHARED;                                            \
    const GroupProduct p = GROUP_PRODUCT;                  \
    few_rows(codes, &p, FEW_ARRAYS);                       \
  }                                                        \
  KERNEL(256) void many_##name(GROUP_PRODUCT_PARAMETERS) { \
    MANY_SHARED;                                           \
    const GroupProduct p = GROUP_PRODUCT;                  \
    many_rows(codes, &p, MANY_ARRAYS);                     \
  }
GROUP_PRODUCT_KERNELS(bytes, CODES_BYTES)
GROUP_PRODUCT_KERNELS(integer_rows, CODES_ROWS)
GROUP_PRODUCT_KERNELS(nibbles, CODES_NIBBLES)
GROUP_PRODUCT_KERNELS(fives, CODES_FIVES)
GROUP_PRODUCT_KERNELS(sixes, CODES_SIXES)
GROUP_PRODUCT_KERNELS(table, CODES_TABLE)
