// Attention: the kernels. A block of queries gives outputs, or states of spans that are merged
// later.
#pragma once

#include "exec/gpu/kernels/attention_values.h"

#define ATTEND_NO_STATE 0xffffffffu

// The result of some spans for one channel. No span: max is -infinity.
typedef struct {
  float max, sum, acc;
} AttendSpan;

// The factor that turns a weighted sum into the output. sinks: [heads] in base 2, or null.
DEVICE float attend_output_factor(float max, float sum, const GLOBAL float* sinks, s32 head) {
  if (sinks == 0) return DIV(1.0f, sum);
  const float t = sinks[head], m = MAXF(max, t);
  const float x = exp2_(sub(max, m)), y = exp2_(sub(t, m));
  return DIV(x, FMA(sum, x, y));
}

// Index of a state. A state has head_dim + 2 values: max, sum and weighted sums.
DEVICE u64 attend_state(const GLOBAL u32* row, s32 span, s32 span_len, s32 n_heads, s32 head,
                        s32 head_dim) {
  const u64 number = row[2] + (u32)(span - (s32)row[0] / span_len);
  return (number * (u64)n_heads + (u64)head) * (u64)(head_dim + 2);
}

// The arrays that take the results of a block.
typedef struct {
  GLOBAL float* out;
  GLOBAL float* states;
  const GLOBAL float* sinks;
  s32 all_heads, span_len;
} AttendResults;

// Address of the weighted sums of query q.
DEVICE GLOBAL float* attend_result(const AttendResults* to, const AttendBlock* block, s32 q,
                                   s32 head_dim) {
  const s32 row = q / block->n_heads, head = block->head + q % block->n_heads;
  const GLOBAL u32* const seen = block->rows + 3 * row;
  if (seen[2] == ATTEND_NO_STATE)
    return to->out + ((u64)(block->row + row) * to->all_heads + head) * head_dim;
  return to->states + 2 +
         attend_state(seen, block->span, to->span_len, to->all_heads, head, head_dim);
}

DEVICE void attend_end(const AttendResults* to, const AttendBlock* block, const AttendShared* at,
                       const AttendState* state, s32 head_dim, s32 n_max, const float* sums) {
  const s32 team = ATTEND_TEAM(n_max), q = THREAD / team, t = THREAD % team;
  UNROLL for (s32 k = 0; k < 2; ++k) if (t + team * k < 16) at->partial[q * 16 + t + team * k] =
      state->lanes[k];
  BARRIER();
  if (t == 0 && q < block->n) {
    const float sum = sum16_(at->partial + q * 16);
    float factor = 1.0f;
    if (block->rows[3 * (q / block->n_heads) + 2] == ATTEND_NO_STATE) {
      factor = attend_output_factor(state->max, sum, to->sinks, block->head + q % block->n_heads);
    } else {
      GLOBAL float* const result = attend_result(to, block, q, head_dim);
      result[-2] = state->max;
      result[-1] = sum;
    }
    at->factors[q] = factor;
  }
  BARRIER();
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) {
    if (first + i >= block->n) continue;
    GLOBAL float* const result = attend_result(to, block, first + i, head_dim);
    UNROLL for (s32 k = 0; k < ATTEND_CHANNELS(n_max); ++k) {
      const s32 c = THREAD % ATTEND_HALF + ATTEND_HALF * k;
      if (c < head_dim)
        result[c] = mul(sums[i * ATTEND_CHANNELS(n_max) + k], at->factors[first + i]);
    }
  }
}

// segments: begins at the block's first segment.
DEVICE void attend_block(const AttendPages* kv, const AttendBlock* block, const AttendShared* at,
                         const AttendResults* to, const GLOBAL u32* segments, s32 n_segments,
                         s32 type, s32 n_max) {
  float sums[ATTEND_SUMS];
  UNROLL for (s32 i = 0; i < ATTEND_SUMS; ++i) sums[i] = 0.0f;
  AttendState state = {-INFINITE, {0.0f, 0.0f}};
  for (s32 i = 0; i < n_segments; ++i) {
    const AttendSegment segment = attend_segment(segments, i);
    BARRIER();
    attend_find_seen(block, at, &segment, kv->tile_len, n_max);
    if (type == KV_INT8)
      attend_score_integers(kv, block, at, &segment, n_max);
    else
      attend_score_floats(kv, block, at, &segment, type, n_max);
    BARRIER();
    attend_weigh(at, &state, n_max);
    if (type == KV_INT8) {
      attend_round_weights(kv, at, &segment, n_max);
      attend_add_integers(kv, block, at, &segment, n_max, sums);
    } else {
      attend_add_floats(kv, block, at, &segment, type, n_max, sums);
    }
  }
  attend_end(to, block, at, &state, kv->head_dim, n_max, sums);
}

// Groups: item, KV head, part of the KV head's query heads. items: AttentionItem, five u32 each.
#define ATTEND_KERNEL(name, type, n_max, widest_head)                                           \
  KERNEL_OF(ATTEND_THREADS, 4)                                                                  \
  void name(const GLOBAL u8* pages, const GLOBAL u32* task_pages, const GLOBAL u32* items,      \
            const GLOBAL u32* segments, const GLOBAL u32* rows, const GLOBAL float* q,          \
            const GLOBAL float* sinks, GLOBAL float* states, GLOBAL float* out, u64 page_bytes, \
            u64 keys, u64 values, u64 chunk_bytes, s32 page_len, s32 tile_len, s32 span_len,    \
            s32 first_item, s32 q_width, s32 n_heads, s32 heads_of_kv, s32 heads_each,          \
            s32 head_dim, float scale, float cap) {                                             \
    SHARED(u32, queries, [(n_max) * (widest_head) / ((type) == KV_INT8 ? 4 : 1)]);              \
    SHARED(u32, weights, [ATTEND_TILE * ((n_max) + 4)]);                                        \
    SHARED(float, partial, [ATTEND_PARTIAL]);                                                   \
    SHARED(float, factors, [n_max]);                                                            \
    SHARED(float, steps, [n_max]);                                                              \
    SHARED(float, scales, [n_max]);                                                             \
    SHARED(s32, begins, [n_max]);                                                               \
    SHARED(s32, ends, [n_max]);                                                                 \
    const AttendShared at = {queries, weights, partial, factors, steps, scales, begins, ends};  \
    const GLOBAL u32* const item = items + (u64)(first_item + GROUP(0)) * 5;                    \
    const s32 before = GROUP(2) * heads_each, left = heads_of_kv - before;                      \
    const s32 heads = left < heads_each ? left : heads_each;                                    \
    const u64 head_at = chunk_bytes * (u64)GROUP(1);                                            \
    const AttendPages kv = {pages,      page_bytes, keys + head_at, values + head_at,           \
                            task_pages, page_len,   tile_len,       head_dim};                  \
    const AttendBlock block = {rows + (u64)item[0] * 3,                                         \
                               (s32)item[0],                                                    \
                               (s32)item[1],                                                    \
                               (s32)item[2],                                                    \
                               GROUP(1) * heads_of_kv + before,                                 \
                               heads,                                                           \
                               (s32)item[1] * heads,                                            \
                               scale,                                                           \
                               cap};                                                            \
    const AttendResults to = {out, states, sinks, n_heads, span_len};                           \
    if ((type) == KV_INT8)                                                                      \
      attend_load_integers(&block, &at, q, q_width, head_dim, n_max);                           \
    else                                                                                        \
      attend_load_floats(&block, &at, q, q_width, head_dim, n_max);                             \
    attend_block(&kv, &block, &at, &to, segments + (u64)item[3] * 7, (s32)(item[4] - item[3]),  \
                 type, n_max);                                                                  \
  }

ATTEND_KERNEL(attend_f32_wide, KV_F32, ATTEND_WIDE, ATTEND_WIDE_HEAD)
ATTEND_KERNEL(attend_f32_narrow, KV_F32, ATTEND_NARROW, ATTEND_NARROW_HEAD)
ATTEND_KERNEL(attend_f16_wide, KV_F16, ATTEND_WIDE, ATTEND_WIDE_HEAD)
ATTEND_KERNEL(attend_f16_narrow, KV_F16, ATTEND_NARROW, ATTEND_NARROW_HEAD)
ATTEND_KERNEL(attend_bf16_wide, KV_BF16, ATTEND_WIDE, ATTEND_WIDE_HEAD)
ATTEND_KERNEL(attend_bf16_narrow, KV_BF16, ATTEND_NARROW, ATTEND_NARROW_HEAD)
ATTEND_KERNEL(attend_int8_wide, KV_INT8, ATTEND_WIDE, ATTEND_WIDE_HEAD)
ATTEND_KERNEL(attend_int8_narrow, KV_INT8, ATTEND_NARROW, ATTEND_NARROW_HEAD)

DEVICE AttendSpan attend_merged(AttendSpan a, AttendSpan b) {
  if (a.max == -INFINITE) return b;
  const float m = MAXF(a.max, b.max), x = exp2_(sub(a.max, m)), y = exp2_(sub(b.max, m));
  const AttendSpan both = {m, FMA(a.sum, x, mul(b.sum, y)), FMA(a.acc, x, mul(b.acc, y))};
  return both;
}

// Merges the states of a row's spans into its output. Spans are merged in pairs, like carries of a
// binary counter; the rest is merged from the right. Each thread has its own channels. Groups:
// index into merged rows, head.
KERNEL(ATTEND_HALF)
void attend_merge(const GLOBAL u32* merged_rows, const GLOBAL u32* rows, const GLOBAL float* states,
                  const GLOBAL float* sinks, GLOBAL float* out, s32 first_row, s32 span_len,
                  s32 n_heads, s32 head_dim) {
  SHARED(AttendSpan, stack, [ATTEND_LEVELS][ATTEND_HALF]);
  const s32 head = GROUP(1);
  const u32 row = merged_rows[first_row + GROUP(0)];
  const GLOBAL u32* const seen = rows + (u64)row * 3;
  const s32 first = (s32)seen[0] / span_len, last = (s32)seen[1] / span_len;
  for (s32 c = THREAD; c < head_dim; c += ATTEND_HALF) {
    s32 n = 0;
    for (s32 span = 0; span <= last; ++span) {
      AttendSpan b = {-INFINITE, 0.0f, 0.0f};
      if (span >= first) {
        const GLOBAL float* const state =
            states + attend_state(seen, span, span_len, n_heads, head, head_dim);
        b.max = state[0];
        b.sum = state[1];
        b.acc = state[2 + c];
      }
      for (s32 pairs = span; (pairs & 1) != 0; pairs >>= 1)
        b = attend_merged(stack[--n][THREAD], b);
      stack[n++][THREAD] = b;
    }
    AttendSpan all = stack[--n][THREAD];
    while (n > 0) all = attend_merged(stack[--n][THREAD], all);
    out[((u64)row * n_heads + head) * head_dim + c] =
        mul(all.acc, attend_output_factor(all.max, all.sum, sinks, head));
  }
}
