// Products of integers in groups of 32: docs/arithmetic.md, "Matrix products". Threads sum
// groups in parallel; each output is one chain over its groups. Eight outputs form a tile. A tile's
// words are [n_groups, pieces of 16 bytes, 8 outputs, 4 words]; its scales, minima and factors are
// [n_groups, 8 outputs]. GROUP(0) counts blocks of rows, GROUP(1) blocks of outputs.
#pragma once

#include "exec/gpu/kernels/quantise.h"

// Storage of a group's integers.
#define CODES_BYTES 0  // 32 bytes
#define CODES_ROWS 1   // 32 bytes; all groups of a row share a scale
#define CODES_NIBBLES \
  2                    // 16 bytes; byte i has the low bits of integers i and i + 16, plus an offset
#define CODES_FIVES 3  // nibbles, and a word: bit w of byte b is the fifth bit of integer 4 w + b
#define CODES_SIXES \
  4                    // nibbles, and a word for each half: bits 2 w and 2 w + 1 of byte b are the
                       // highest of its integer 4 w + b; each half has a factor
#define CODES_TABLE 5  // 16 bytes; integers in order, as places in a table

#define GROUP_PRODUCT_PARAMETERS                                                                \
  const GLOBAL u32 *words, const GLOBAL u32 *high, const GLOBAL u16 *scales,                    \
      const GLOBAL u16 *minima, const GLOBAL u16 *factors, s32 is_half, u32 table0, u32 table1, \
      u32 table2, u32 table3, const GLOBAL u32 *x, const GLOBAL float *x_scales,                \
      const GLOBAL float *x_sums, GLOBAL float *y, s32 n_rows, s32 n_outputs, s32 n_groups,     \
      s32 first, s32 width
#define GROUP_PRODUCT                                                                           \
  {                                                                                             \
    words, high, scales, minima, factors, is_half, table0, table1, table2, table3, x, x_scales, \
        x_sums, y, n_rows, n_outputs, n_groups, first, width                                    \
  }

typedef struct {
  const GLOBAL u32* words;
  const GLOBAL u32* high;     // [n_groups, 8 outputs]; CODES_SIXES: [n_groups, 2, 8 outputs]
  const GLOBAL u16* scales;   // f16 if is_half, else f32
  const GLOBAL u16* minima;   // likewise, or null
  const GLOBAL u16* factors;  // two signed bytes each; only with CODES_SIXES
  s32 is_half;
  u32 table0, table1, table2, table3;  // sixteen signed bytes; if no table, table0 is the offset
  const GLOBAL u32* x;                 // [n_rows, n_groups, 8]
  const GLOBAL float* x_scales;        // [n_rows, n_groups]; CODES_ROWS: [n_rows]
  const GLOBAL float* x_sums;          // [n_rows, n_groups]
  GLOBAL float* y;                     // [n_rows, width]; outputs begin at column `first`
  s32 n_rows, n_outputs, n_groups, first, width;
} GroupProduct;

DEVICE float half_or_float(const GLOBAL u16* values, s32 is_half, u64 i) {
  return is_half ? WIDEN_F16(values, i) : ((const GLOBAL float*)values)[i];
}

// Four integers: the bytes of `codes`, less the offset.
DEVICE u32 less_offset(u32 codes, u32 offset) {
  return ((codes | 0x80808080u) - offset * 0x01010101u) ^ 0x80808080u;
}

// Four integers of fewer than eight bits. Their low bits come from `low`, their high bits from the
// lowest bits of each byte of `high`.
DEVICE u32 join_bits(const s32 codes, u32 low, u32 high, u32 offset) {
  u32 joined = low & 0x0f0f0f0fu;
  if (codes == CODES_FIVES) joined |= (high & 0x01010101u) << 4;
  if (codes == CODES_SIXES) joined |= (high & 0x03030303u) << 4;
  return less_offset(joined, offset);
}

// Four signed bytes of the table, at the lowest four hexadecimal digits of `places`.
DEVICE u32 from_table(const GroupProduct* p, u32 places) {
  const u32 low = choose_bytes(p->table0, p->table1, places);
  const u32 high = choose_bytes(p->table2, p->table3, places);
  return choose_bytes(low, high, 0x3210u | (places & 0x8888u) >> 1);
}

// Half of a group of one output: its first or last 16 integers, four words.
DEVICE u32x4 load_half(const s32 codes, const GroupProduct* p, s32 tile, s32 g, s32 half_index,
                       s32 output) {
  const GLOBAL u32x4* const from = (const GLOBAL u32x4*)p->words;
  const u64 at = (u64)tile * p->n_groups + g;
  if (codes < CODES_NIBBLES) return from[(at * 2 + half_index) * 8 + output];
  u32x4 q = from[at * 8 + output];
  if (codes < CODES_TABLE) {
    const s32 low = half_index * 4, bits = codes == CODES_SIXES ? 2 : 1;
    u32 high = 0;
    if (codes == CODES_FIVES) high = p->high[at * 8 + output] >> low;
    if (codes == CODES_SIXES) high = p->high[(at * 2 + half_index) * 8 + output];
    q.x = join_bits(codes, q.x >> low, high, p->table0);
    q.y = join_bits(codes, q.y >> low, high >> bits, p->table0);
    q.z = join_bits(codes, q.z >> low, high >> 2 * bits, p->table0);
    q.w = join_bits(codes, q.w >> low, high >> 3 * bits, p->table0);
    return q;
  }
  const u32 left = half_index ? q.z : q.x, right = half_index ? q.w : q.y;
  q.x = from_table(p, left);
  q.y = from_table(p, left >> 16);
  q.z = from_table(p, right);
  q.w = from_table(p, right >> 16);
  return q;
}

DEVICE s32 dot16(u32x4 a, u32x4 b, s32 c) {
  return dot4(a.w, b.w, dot4(a.z, b.z, dot4(a.y, b.y, dot4(a.x, b.x, c))));
}

// The factor of the first or second half of a group.
DEVICE float half_factor(u16 factors, s32 half_index) {
  return (float)(s8)(half_index ? factors >> 8 : factors & 255);
}

// ---------------------------------------------------------------------------------- few rows
// A work group has 8 outputs of up to 8 rows. In a stage, each thread sums one of 32 groups of one
// output for all rows. Then thread (row, output) continues its chain.
#define FEW_ROWS 8
#define STAGE_GROUPS 32
#define FEW_SHARED                                          \
  SHARED(float, sums, [2 * FEW_ROWS * STAGE_GROUPS * 8]);   \
  SHARED(float, weight_scales, [2 * STAGE_GROUPS * 8]);     \
  SHARED(float, weight_minima, [2 * STAGE_GROUPS * 8]);     \
  SHARED(float, row_scales, [2 * FEW_ROWS * STAGE_GROUPS]); \
  SHARED(float, row_sums, [2 * FEW_ROWS * STAGE_GROUPS])
#define FEW_ARRAYS sums, weight_scales, weight_minima, row_scales, row_sums

// One output's integers of a group.
typedef struct {
  u32x4 halves[2];
} GroupWords;

DEVICE void load_group(const s32 codes, const GroupProduct* p, s32 g, GroupWords* q) {
  const u32x4 zeros = {0, 0, 0, 0};
  q->halves[0] = q->halves[1] = zeros;
  if (g >= p->n_groups) return;
  q->halves[0] = load_half(codes, p, GROUP(1), g, 0, THREAD & 7);
  q->halves[1] = load_half(codes, p, GROUP(1), g, 1, THREAD & 7);
}

// Puts the sums of group g for all rows into sums[row][group in the stage][output].
DEVICE void sum_group(const s32 codes, const GroupProduct* p, const GroupWords* q, s32 row0,
                      s32 n_rows, s32 g, LOCAL float* sums) {
  u16 factors = 0;
  if (codes == CODES_SIXES)
    factors = p->factors[((u64)GROUP(1) * p->n_groups + g) * 8 + (THREAD & 7)];
  for (s32 row = 0; row < n_rows; ++row) {
    const GLOBAL u32x4* const x =
        (const GLOBAL u32x4*)p->x + ((u64)(row0 + row) * p->n_groups + g) * 2;
    const s32 sum = dot16(q->halves[0], x[0], 0);
    float value;
    if (codes == CODES_SIXES)
      value = FMA((float)dot16(q->halves[1], x[1], 0), half_factor(factors, 1),
                  mul((float)sum, half_factor(factors, 0)));
    else
      value = (float)dot16(q->halves[1], x[1], sum);
    sums[row * STAGE_GROUPS * 8 + THREAD] = value;
  }
}

DEVICE void few_rows(const s32 codes, const GroupProduct* p, LOCAL float* sums,
                     LOCAL float* weight_scales, LOCAL float* weight_minima,
                     LOCAL float* row_scales, LOCAL float* row_sums) {
  const s32 row0 = GROUP(0) * FEW_ROWS, row = THREAD >> 5, output = THREAD & 31;
  const s32 n_rows = p->n_rows - row0 < FEW_ROWS ? p->n_rows - row0 : FEW_ROWS;
  const s32 is_output = row < n_rows && output < 8 && GROUP(1) * 8 + output < p->n_outputs;
  float acc = 0.0f;
  u32 total = 0;
  s32 turn = 0;
  GroupWords q;
  load_group(codes, p, THREAD >> 3, &q);
  for (s32 g0 = 0; g0 < p->n_groups; g0 += STAGE_GROUPS, turn ^= 256) {
    LOCAL float* const stage_sums = sums + turn * FEW_ROWS;
    const s32 g = g0 + (THREAD >> 3), g_of_row = g0 + (THREAD & 31);
    if (g < p->n_groups) {
      sum_group(codes, p, &q, row0, n_rows, g, stage_sums);
      const u64 at = ((u64)GROUP(1) * p->n_groups + g) * 8 + (THREAD & 7);
      if (codes != CODES_ROWS)
        weight_scales[turn + THREAD] = half_or_float(p->scales, p->is_half, at);
      if (p->minima != 0) weight_minima[turn + THREAD] = half_or_float(p->minima, p->is_half, at);
    }
    if (codes != CODES_ROWS && row < n_rows && g_of_row < p->n_groups) {
      const u64 at = (u64)(row0 + row) * p->n_groups + g_of_row;
      row_scales[turn + THREAD] = p->x_scales[at];
      row_sums[turn + THREAD] = p->x_sums[at];
    }
    load_group(codes, p, g + STAGE_GROUPS, &q);  // loads while the chains run
    BARRIER();
    const s32 n = p->n_groups - g0 < STAGE_GROUPS ? p->n_groups - g0 : STAGE_GROUPS;
    for (s32 i = 0; is_output && i < n; ++i) {
      const float sum = stage_sums[(row * STAGE_GROUPS + i) * 8 + output];
      if (codes == CODES_ROWS) {
        total += (u32)TO_S32(sum);
        continue;
      }
      const s32 in_row = turn + row * STAGE_GROUPS + i, in_tile = turn + i * 8 + output;
      acc = FMA(sum, mul(row_scales[in_row], weight_scales[in_tile]), acc);
      if (p->minima != 0) acc = FMA(row_sums[in_row], weight_minima[in_tile], acc);
    }
  }
  if (!is_output) return;
  const s32 at = GROUP(1) * 8 + output;
  if (codes == CODES_ROWS)
    acc = FMA((float)(s32)total, mul(p->x_scales[row0 + row], ((const GLOBAL float*)p->scales)[at]),
              0.0f);
  p->y[(u64)(row0 + row) * p->width + p->first + at] = acc;
}
