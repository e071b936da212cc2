// Products of weights in f32, f16 and bf16: docs/arithmetic.md, "Matrix products". Each output is
// one chain over all inputs. Eight outputs form a tile. A tile's weights are [k / 8, 8 outputs, 8
// inputs]. GROUP(0) counts blocks of rows, GROUP(1) blocks of outputs.
#pragma once

#include "exec/gpu/kernels/pieces.h"

#define VALUES_F32 0
#define VALUES_F16 1
#define VALUES_BF16 2
#define VALUES_DOT 3  // bf16 in pairs; the chain takes the second of a pair first

#define VALUE_PRODUCT_PARAMETERS                                                                \
  const GLOBAL u32x4 *words, const GLOBAL float *x, GLOBAL float *y, s32 n_rows, s32 n_outputs, \
      s32 k, s32 first, s32 width
#define VALUE_PRODUCT \
  { words, x, y, n_rows, n_outputs, k, first, width }

typedef struct {
  const GLOBAL u32x4* words;
  const GLOBAL float* x;  // [n_rows, k]
  GLOBAL float* y;        // [n_rows, width]; outputs begin at column `first`
  s32 n_rows, n_outputs, k, first, width;
} ValueProduct;

DEVICE float widen_value(const s32 kind, u32 bits) {
  return kind == VALUES_F16 ? widen_f16((u16)bits) : WIDEN_BF16(bits & 0xffffu);
}

// Loads eight weights of one output, from input 8 * block on; zeros after the last input.
DEVICE void load_values(const s32 kind, const ValueProduct* p, s32 tile, s32 block, s32 output,
                        float* values) {
  const u64 at = ((u64)tile * ((p->k + 7) >> 3) + block) * 8 + output;
  const u32x4 q = p->words[kind == VALUES_F32 ? at * 2 : at];
  if (kind == VALUES_F32) {
    const u32x4 next = p->words[at * 2 + 1];
    values[0] = F32_OF_BITS(q.x);
    values[1] = F32_OF_BITS(q.y);
    values[2] = F32_OF_BITS(q.z);
    values[3] = F32_OF_BITS(q.w);
    values[4] = F32_OF_BITS(next.x);
    values[5] = F32_OF_BITS(next.y);
    values[6] = F32_OF_BITS(next.z);
    values[7] = F32_OF_BITS(next.w);
    return;
  }
  values[0] = widen_value(kind, q.x);
  values[1] = widen_value(kind, q.x >> 16);
  values[2] = widen_value(kind, q.y);
  values[3] = widen_value(kind, q.y >> 16);
  values[4] = widen_value(kind, q.z);
  values[5] = widen_value(kind, q.z >> 16);
  values[6] = widen_value(kind, q.w);
  values[7] = widen_value(kind, q.w >> 16);
}

// ---------------------------------------------------------------------------------- few rows
// A work group has 8 outputs of up to 8 rows. All threads load 256 inputs. Then thread (row,
// output) continues its chain.
#define VALUE_ROWS 8
#define VALUE_STAGE 256
#define FEW_VALUES_SHARED                            \
  SHARED(float, xs, [2 * VALUE_ROWS * VALUE_STAGE]); \
  SHARED(float, ws, [2 * 8 * VALUE_STAGE])

// Continues a chain over n inputs. The weight of input i is w[i / 8 * 64 + i % 8].
DEVICE float value_chain(const s32 kind, const LOCAL float* x, const LOCAL float* w, s32 n,
                         float acc) {
  s32 i = 0;
  for (; i + 8 <= n; i += 8, x += 8, w += 64) UNROLL for (s32 j = 0; j < 8; j += 2) {
      if (kind == VALUES_DOT)
        acc = FMA(x[j], w[j], FMA(x[j + 1], w[j + 1], acc));
      else
        acc = FMA(x[j + 1], w[j + 1], FMA(x[j], w[j], acc));
    }
  for (s32 j = 0; i + j < n; j += 2) {
    if (kind == VALUES_DOT) acc = FMA(x[j + 1], w[j + 1], acc);
    acc = FMA(x[j], w[j], acc);
    if (kind != VALUES_DOT && i + j + 1 < n) acc = FMA(x[j + 1], w[j + 1], acc);
  }
  return acc;
}

DEVICE void few_values(const s32 kind, const ValueProduct* p, LOCAL float* xs, LOCAL float* ws) {
  const s32 row0 = GROUP(0) * VALUE_ROWS, row = THREAD >> 5, output = THREAD & 31;
  const s32 is_row = row0 + row < p->n_rows;
  const s32 is_output = is_row && output < 8 && GROUP(1) * 8 + output < p->n_outputs;
  const GLOBAL float* const x = p->x + (u64)(row0 + row) * p->k;
  float acc = 0.0f;
  for (s32 k0 = 0, turn = 0; k0 < p->k; k0 += VALUE_STAGE, turn ^= 1) {
    const s32 n = p->k - k0 < VALUE_STAGE ? p->k - k0 : VALUE_STAGE;
    LOCAL float* const row_x = xs + (turn * VALUE_ROWS + row) * VALUE_STAGE;
    LOCAL float* const tile_w = ws + turn * 8 * VALUE_STAGE;
    if (is_row)
      for (s32 i = output; i < n; i += 32) row_x[i] = x[k0 + i];
    if ((THREAD >> 3) * 8 < n) {
      float values[8];
      load_values(kind, p, GROUP(1), (k0 >> 3) + (THREAD >> 3), THREAD & 7, values);
      UNROLL for (s32 i = 0; i < 8; ++i) tile_w[THREAD * 8 + i] = values[i];
    }
    BARRIER();
    if (is_output) acc = value_chain(kind, row_x, tile_w + output * 8, n, acc);
  }
  if (is_output) p->y[(u64)(row0 + row) * p->width + p->first + GROUP(1) * 8 + output] = acc;
}

// --------------------------------------------------------------------------------- many rows
// A work group has 64 rows and 64 outputs; a thread has 4 of each. They take 32 inputs at a time.
#define TILE_STAGE 32
#define TILE_STRIDE 68  // values of one input: 64, and 4 that avoid bank conflicts
#define MANY_VALUES_SHARED                       \
  SHARED(float, xs, [TILE_STAGE * TILE_STRIDE]); \
  SHARED(float, ws, [TILE_STAGE * TILE_STRIDE])

// Data that a thread moves to shared memory: eight inputs of a row, eight weights of an output.
typedef struct {
  float x[8], w[8];
} ValueMove;

DEVICE void load_value_move(const s32 kind, const ValueProduct* p, s32 k0, ValueMove* move) {
  const s32 row = GROUP(0) * 64 + (THREAD >> 2), from = k0 + (THREAD & 3) * 8;
  UNROLL for (s32 i = 0; i < 8; ++i) move->x[i] =
      row < p->n_rows && from + i < p->k ? p->x[(u64)row * p->k + from + i] : 0.0f;
  const s32 tile = GROUP(1) * 8 + (THREAD >> 5), block = (k0 >> 3) + (THREAD >> 3 & 3);
  if (tile * 8 < p->n_outputs && block * 8 < p->k)
    load_values(kind, p, tile, block, THREAD & 7, move->w);
  else
    UNROLL for (s32 i = 0; i < 8; ++i) move->w[i] = 0.0f;
}

DEVICE void store_value_move(const ValueMove* move, LOCAL float* xs, LOCAL float* ws) {
  const s32 output = (THREAD >> 5) * 8 + (THREAD & 7);
  UNROLL for (s32 i = 0; i < 8; ++i) {
    xs[((THREAD & 3) * 8 + i) * TILE_STRIDE + (THREAD >> 2)] = move->x[i];
    ws[((THREAD >> 3 & 3) * 8 + i) * TILE_STRIDE + output] = move->w[i];
  }
}

// Adds one input to 4 x 4 outputs.
DEVICE void tile_step(const LOCAL float* x, const LOCAL float* w, float* acc) {
  UNROLL for (s32 i = 0; i < 16; ++i) acc[i] = FMA(x[i >> 2], w[i & 3], acc[i]);
}

DEVICE void many_values(const s32 kind, const ValueProduct* p, LOCAL float* xs, LOCAL float* ws) {
  const s32 row = THREAD >> 4, output = THREAD & 15;  // in units of 4
  float acc[16];
  UNROLL for (s32 i = 0; i < 16; ++i) acc[i] = 0.0f;
  ValueMove move;
  load_value_move(kind, p, 0, &move);
  for (s32 k0 = 0; k0 < p->k; k0 += TILE_STAGE) {
    store_value_move(&move, xs, ws);
    BARRIER();
    load_value_move(kind, p, k0 + TILE_STAGE, &move);
    const LOCAL float* const x = xs + row * 4;
    const LOCAL float* const w = ws + output * 4;
    const s32 n = p->k - k0 < TILE_STAGE ? p->k - k0 : TILE_STAGE;
    if (kind == VALUES_DOT)
      for (s32 i = 0; i < n; i += 2) {
        tile_step(x + (i + 1) * TILE_STRIDE, w + (i + 1) * TILE_STRIDE, acc);
        tile_step(x + i * TILE_STRIDE, w + i * TILE_STRIDE, acc);
      }
    else
      for (s32 i = 0; i < n; ++i) tile_step(x + i * TILE_STRIDE, w + i * TILE_STRIDE, acc);
    BARRIER();
  }
  UNROLL for (s32 i = 0; i < 16; ++i) {
    const s32 m = GROUP(0) * 64 + row * 4 + (i >> 2), n = GROUP(1) * 64 + output * 4 + (i & 3);
    if (m < p->n_rows && n < p->n_outputs) p->y[(u64)m * p->width + p->first + n] = acc[i];
  }
}

#define VALUE_PRODUCT_KERNELS(name, kind)                  \
  KERNEL(256) void few_##name(VALUE_PRODUCT_PARAMETERS) {  \
    FEW_VALUES_SHARED;                                     \
    const ValueProduct p = VALUE_PRODUCT;                  \
    few_values(kind, &p, xs, ws);                          \
  }                                                        \
  KERNEL(256) void many_##name(VALUE_PRODUCT_PARAMETERS) { \
    MANY_VALUES_SHARED;                                    \
    const ValueProduct p = VALUE_PRODUCT;                  \
    many_values(kind, &p, xs, ws);                         \
  }
VALUE_PRODUCT_KERNELS(f32, VALUES_F32)
VALUE_PRODUCT_KERNELS(f16, VALUES_F16)
VALUE_PRODUCT_KERNELS(bf16, VALUES_BF16)
VALUE_PRODUCT_KERNELS(dot, VALUES_DOT)
