// Attention: docs/arithmetic.md, "Attention" and "Attention over int8 keys and values".
//
// A work group computes a block of queries against one span. The queries are of some rows and of
// heads with one KV head. The block takes segments in order; a segment has a tile's pages for some
// or all rows. This file turns a segment into weights. For scores, a thread has a position of the
// tile and half of the queries. For weights, it has one query, some positions and some of the
// query's sixteen lanes.
#pragma once

#include "exec/gpu/kernels/attention_sizes.h"
#include "exec/gpu/kernels/dialect.h"
#include "exec/gpu/kernels/pieces.h"

#define ATTEND_THREADS 128
#define ATTEND_HALF 64  // threads that share their queries
#define ATTEND_SUMS 32  // weighted sums of a thread, for its queries times channels
#define ATTEND_PARTIAL 256

#define KV_F32 0
#define KV_F16 1
#define KV_BF16 2
#define KV_INT8 3

// Queries of a thread, channels of a thread, and threads of a query, in a block of n_max queries.
#define ATTEND_QUERIES(n_max) ((n_max) / 2)
#define ATTEND_CHANNELS(n_max) ((n_max) == ATTEND_WIDE ? 4 : 8)
#define ATTEND_TEAM(n_max) (ATTEND_THREADS / (n_max))
// Index of a weight in shared memory.
#define ATTEND_WEIGHT(n_max, j, q) ((j) * ((n_max) + 4) + (q))

typedef struct {
  const GLOBAL u8* pages;
  u64 page_bytes, keys, values;  // keys, values: chunk offsets in a page, of this KV head
  const GLOBAL u32* task_pages;
  s32 page_len, tile_len, head_dim;
} AttendPages;

typedef struct {
  const GLOBAL u32* rows;  // this block's AttentionRow entries
  s32 row, n_rows, span;
  s32 head, n_heads;  // this block's
  s32 n;              // queries: rows times heads
  float scale, cap;
} AttendBlock;

typedef struct {
  s32 row_begin, row_end, tile, first_page, begin, end, is_whole;
} AttendSegment;

typedef struct {
  LOCAL u32* queries;    // [head_dim, n_max] f32, or [head_dim / 4, n_max] of four s8
  LOCAL u32* weights;    // [tile, n_max + 4] scores, then weights in f32 or integers
  LOCAL float* partial;  // [ATTEND_PARTIAL]
  LOCAL float* factors;  // [n_max] for sums of earlier tiles
  LOCAL float* steps;    // [n_max] of integer weights
  LOCAL float* scales;   // [n_max] of integer queries
  LOCAL s32* begins;     // [n_max] positions of the tile that a query sees
  LOCAL s32* ends;
} AttendShared;

// The running state of a thread's query.
typedef struct {
  float max, lanes[2];
} AttendState;

DEVICE AttendSegment attend_segment(const GLOBAL u32* segments, u32 i) {
  const GLOBAL u32* const s = segments + (u64)i * 7;
  const AttendSegment segment = {(s32)s[0], (s32)s[1], (s32)s[2], (s32)s[3],
                                 (s32)s[4], (s32)s[5], (s32)s[6]};
  return segment;
}

// The chunk at byte offset `at` in page number `page` of the tile.
DEVICE const GLOBAL u8* attend_chunk(const AttendPages* kv, s32 first_page, s32 page, u64 at) {
  return kv->pages + (u64)kv->task_pages[first_page + page] * kv->page_bytes + at;
}

DEVICE float attend_value(const GLOBAL u8* chunk, s32 type, s32 i) {
  if (type == KV_F32) return ((const GLOBAL float*)chunk)[i];
  if (type == KV_F16) return WIDEN_F16((const GLOBAL u16*)chunk, i);
  return WIDEN_BF16(((const GLOBAL u16*)chunk)[i]);
}

// Scales follow the elements of an int8 chunk, one for each position.
DEVICE s32 attend_int8_width(s32 head_dim) { return (head_dim + 15) / 16 * 16; }
DEVICE float attend_int8_scale(const AttendPages* kv, s32 first_page, s32 j, u64 at) {
  const s32 page = j / kv->page_len;
  const s32 n_bytes = (kv->page_len + 3) / 4 * 4 * attend_int8_width(kv->head_dim);
  const GLOBAL u8* const chunk = attend_chunk(kv, first_page, page, at) + n_bytes;
  return ((const GLOBAL float*)chunk)[j - page * kv->page_len];
}

// ------------------------------------------------------------------------------------ queries

DEVICE const GLOBAL float* attend_query(const AttendBlock* block, const GLOBAL float* q,
                                        s32 q_width, s32 head_dim, s32 i) {
  const s32 row = block->row + i / block->n_heads, head = block->head + i % block->n_heads;
  return q + (u64)row * q_width + head * head_dim;
}

DEVICE void attend_load_floats(const AttendBlock* block, const AttendShared* at,
                               const GLOBAL float* q, s32 q_width, s32 head_dim, s32 n_max) {
  for (s32 i = 0; i < n_max; ++i)
    for (s32 c = THREAD; c < head_dim; c += ATTEND_THREADS) {
      const float x =
          i < block->n ? mul(attend_query(block, q, q_width, head_dim, i)[c], block->scale) : 0.0f;
      at->queries[c * n_max + i] = BITS_OF_F32(x);
    }
}

DEVICE u32 attend_byte(float x) {
  return (u32)TO_S32(MAXF(MINF(ROUND_EVEN(x), 127.0f), -127.0f)) & 0xffu;
}

// Loads each query as integers with one scale.
DEVICE void attend_load_integers(const AttendBlock* block, const AttendShared* at,
                                 const GLOBAL float* q, s32 q_width, s32 head_dim, s32 n_max) {
  const s32 team = ATTEND_TEAM(n_max), i = THREAD / team, t = THREAD % team;
  const GLOBAL float* const x =
      attend_query(block, q, q_width, head_dim, i < block->n ? i : block->n - 1);
  float amax = 0.0f;
  for (s32 c = t; c < head_dim; c += team) amax = MAXF(amax, ABSF(mul(x[c], block->scale)));
  at->partial[THREAD] = amax;
  BARRIER();
  for (s32 k = 0; k < team; ++k) amax = MAXF(amax, at->partial[i * team + k]);
  if (amax < 0x1p-100f) amax = 0.0f;
  const float factor = amax == 0.0f ? 0.0f : DIV(127.0f, amax);
  if (t == 0) at->scales[i] = DIV(amax, 127.0f);
  for (s32 w = t; w < head_dim / 4; w += team) {
    u32 word = 0;
    UNROLL for (s32 b = 0; b < 4; ++b) {
      const float y = mul(x[4 * w + b], block->scale);
      word |= attend_byte(mul(y, factor)) << (8 * b);
    }
    at->queries[w * n_max + i] = word;
  }
}

// ------------------------------------------------------------------------------------- scores

// Finds the positions of a tile that each query sees; none if its row is not in the segment.
DEVICE void attend_find_seen(const AttendBlock* block, const AttendShared* at,
                             const AttendSegment* segment, s32 tile_len, s32 n_max) {
  const s32 q = THREAD, row = q / block->n_heads;
  if (q >= n_max) return;
  s32 begin = 0, end = 0;
  if (q < block->n && row >= segment->row_begin && row < segment->row_end) {
    const s32 tile = segment->tile * tile_len;
    const s32 first = (s32)block->rows[row * 3] - tile, last = (s32)block->rows[row * 3 + 1] - tile;
    begin = first < 0 ? 0 : first;
    end = last + 1 > tile_len ? tile_len : last + 1;
    if (begin >= end) begin = end = 0;
  }
  at->begins[q] = begin;
  at->ends[q] = end;
}

DEVICE void attend_put_score(const AttendBlock* block, const AttendShared* at, s32 n_max, s32 j,
                             s32 q, float score) {
  at->weights[ATTEND_WEIGHT(n_max, j, q)] =
      BITS_OF_F32(block->cap > 0.0f ? soft_cap_(score, block->cap) : score);
}

DEVICE void attend_score_floats(const AttendPages* kv, const AttendBlock* block,
                                const AttendShared* at, const AttendSegment* segment, s32 type,
                                s32 n_max) {
  const s32 j = THREAD % ATTEND_HALF, first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  if (j < segment->begin || j >= segment->end || first >= block->n) return;
  const s32 page = j / kv->page_len, offset = j - page * kv->page_len;
  const GLOBAL u8* const keys = attend_chunk(kv, segment->first_page, page, kv->keys);
  float score[ATTEND_QUERIES(ATTEND_WIDE)];
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) score[i] = 0.0f;
  for (s32 c = 0; c < kv->head_dim; c += 4) {
    float key[4];
    UNROLL for (s32 k = 0; k < 4; ++k) key[k] =
        attend_value(keys, type, (c + k) * kv->page_len + offset);
    UNROLL for (s32 k = 0; k < 4; ++k) {
      const LOCAL u32* const q = at->queries + (c + k) * n_max + first;
      UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) score[i] =
          FMA(F32_OF_BITS(q[i]), key[k], score[i]);
    }
  }
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i)
      attend_put_score(block, at, n_max, j, first + i, score[i]);
}

DEVICE void attend_score_integers(const AttendPages* kv, const AttendBlock* block,
                                  const AttendShared* at, const AttendSegment* segment, s32 n_max) {
  const s32 j = THREAD % ATTEND_HALF, first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  if (j < segment->begin || j >= segment->end || first >= block->n) return;
  const s32 page = j / kv->page_len, offset = j - page * kv->page_len;
  const GLOBAL u32* const keys =
      (const GLOBAL u32*)attend_chunk(kv, segment->first_page, page, kv->keys);
  s32 sum[ATTEND_QUERIES(ATTEND_WIDE)];
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) sum[i] = 0;
  for (s32 w = 0; w < kv->head_dim / 4; ++w) {
    const u32 key = keys[w * kv->page_len + offset];
    const LOCAL u32* const q = at->queries + w * n_max + first;
    UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) sum[i] = dot4(q[i], key, sum[i]);
  }
  const float scale = attend_int8_scale(kv, segment->first_page, j, kv->keys);
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) attend_put_score(
      block, at, n_max, j, first + i, mul((float)sum[i], mul(at->scales[first + i], scale)));
}

// ------------------------------------------------------------------------------------ weights

// Turns scores into weights, and adds them to the sums of weights.
DEVICE void attend_weigh(const AttendShared* at, AttendState* state, s32 n_max) {
  const s32 team = ATTEND_TEAM(n_max), q = THREAD / team, t = THREAD % team;
  const s32 begin = at->begins[q], end = at->ends[q];
  float most = -INFINITE;
  for (s32 j = t; j < end; j += team)
    if (j >= begin) most = MAXF(most, F32_OF_BITS(at->weights[ATTEND_WEIGHT(n_max, j, q)]));
  at->partial[THREAD] = most;
  BARRIER();
  float factor = 1.0f;
  if (begin < end) {
    float top = state->max;
    for (s32 k = 0; k < team; ++k) top = MAXF(top, at->partial[q * team + k]);
    factor = state->max == -INFINITE ? 0.0f : exp2_(sub(state->max, top));
    for (s32 j = t; j < end; j += team) {
      LOCAL u32* const weight = at->weights + ATTEND_WEIGHT(n_max, j, q);
      if (j >= begin) *weight = BITS_OF_F32(exp2_(sub(F32_OF_BITS(*weight), top)));
    }
    state->max = top;
  }
  if (t == 0) at->factors[q] = factor;
  BARRIER();
  UNROLL for (s32 k = 0; k < 2; ++k) {
    const s32 lane = t + team * k;
    if (lane >= 16 || begin >= end) continue;
    float sum = mul(state->lanes[k], factor);
    for (s32 j = lane; j < end; j += 16)
      if (j >= begin) sum = add(sum, F32_OF_BITS(at->weights[ATTEND_WEIGHT(n_max, j, q)]));
    state->lanes[k] = sum;
  }
}

// Rounds weights times value scales to integers up to 255, with one step for each query.
DEVICE void attend_round_weights(const AttendPages* kv, const AttendShared* at,
                                 const AttendSegment* segment, s32 n_max) {
  const s32 team = ATTEND_TEAM(n_max), q = THREAD / team, t = THREAD % team;
  const s32 begin = at->begins[q], end = at->ends[q];
  float most = 0.0f;
  for (s32 j = t; j < end; j += team) {
    if (j < begin) continue;
    const float scale = attend_int8_scale(kv, segment->first_page, j, kv->values);
    most = MAXF(most, mul(F32_OF_BITS(at->weights[ATTEND_WEIGHT(n_max, j, q)]), scale));
  }
  at->partial[THREAD] = most;
  BARRIER();
  for (s32 k = 0; k < team; ++k) most = MAXF(most, at->partial[q * team + k]);
  if (most < 0x1p-100f) most = 0.0f;
  const float to_integer = most == 0.0f ? 0.0f : DIV(255.0f, most);
  for (s32 j = t; j < segment->end; j += team) {
    LOCAL u32* const weight = at->weights + ATTEND_WEIGHT(n_max, j, q);
    u32 share = 0;
    if (j >= begin && j < end) {
      const float scale = attend_int8_scale(kv, segment->first_page, j, kv->values);
      const float x = mul(mul(F32_OF_BITS(*weight), scale), to_integer);
      share = (u32)TO_S32(MINF(255.0f, ROUND_EVEN(x)));
    }
    *weight = share;
  }
  if (t == 0) at->steps[q] = DIV(most, 255.0f);
  BARRIER();
}
