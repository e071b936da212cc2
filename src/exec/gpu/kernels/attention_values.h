// Attention: weighted sums of the values of a segment. Each thread has some channels, for half of
// the queries.
#pragma once

#include "exec/gpu/kernels/attention_weights.h"

// Adds the value of position j, at `offset` in its page. seen: a bit for each query that sees it;
// not read if is_whole.
DEVICE void attend_add_value(const AttendPages* kv, const AttendShared* at, const GLOBAL u8* values,
                             s32 offset, s32 j, u32 seen, s32 is_whole, s32 type, s32 n_max,
                             float* sums) {
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  const LOCAL u32* const weights = at->weights + ATTEND_WEIGHT(n_max, j, first);
  UNROLL for (s32 k = 0; k < ATTEND_CHANNELS(n_max); ++k) {
    const s32 c = THREAD % ATTEND_HALF + ATTEND_HALF * k;
    if (c >= kv->head_dim) break;
    const float value = attend_value(values, type, offset * kv->head_dim + c);
    UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) {
      float* const sum = sums + i * ATTEND_CHANNELS(n_max) + k;
      if (is_whole || (seen >> i & 1u) != 0) *sum = FMA(F32_OF_BITS(weights[i]), value, *sum);
    }
  }
}

DEVICE void attend_scale_sums(const AttendShared* at, s32 n_max, float* sums) {
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i)
      UNROLL for (s32 k = 0; k < ATTEND_CHANNELS(n_max); ++k) {
    float* const sum = sums + i * ATTEND_CHANNELS(n_max) + k;
    *sum = mul(*sum, at->factors[first + i]);
  }
}

DEVICE void attend_add_floats(const AttendPages* kv, const AttendBlock* block,
                              const AttendShared* at, const AttendSegment* segment, s32 type,
                              s32 n_max, float* sums) {
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max), len = kv->page_len;
  if (first >= block->n) return;
  attend_scale_sums(at, n_max, sums);
  for (s32 page = segment->begin / len; page * len < segment->end; ++page) {
    const GLOBAL u8* const values = attend_chunk(kv, segment->first_page, page, kv->values);
    s32 j = page * len < segment->begin ? segment->begin : page * len;
    const s32 end = (page + 1) * len < segment->end ? (page + 1) * len : segment->end;
    if (segment->is_whole) {
      for (; j < end; ++j)
        attend_add_value(kv, at, values, j - page * len, j, 0, 1, type, n_max, sums);
      continue;
    }
    for (; j < end; ++j) {
      u32 seen = 0;
      UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max);
                  ++i) if (j >= at->begins[first + i] && j < at->ends[first + i]) seen |= 1u << i;
      if (seen != 0)
        attend_add_value(kv, at, values, j - page * len, j, seen, 0, type, n_max, sums);
    }
  }
}

// Adds integer products of positions j to j + 3, except positions outside of [begin, end). words:
// one for each channel; a word has the values of the four positions. Sums of queries that are not
// there may wrap around, and nobody reads them.
DEVICE void attend_add_words(const AttendShared* at, const GLOBAL u32* words, s32 head_dim, s32 j,
                             s32 begin, s32 end, s32 n_max, u32* whole) {
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max);
  UNROLL for (s32 k = 0; k < ATTEND_CHANNELS(n_max); ++k) {
    const s32 c = THREAD % ATTEND_HALF + ATTEND_HALF * k;
    if (c >= head_dim) break;
    const u32 word = words[c];
    UNROLL for (s32 b = 0; b < 4; ++b) {
      if (j + b < begin || j + b >= end) continue;
      const s32 value = (s8)(word >> (8 * b));
      const LOCAL u32* const weights = at->weights + ATTEND_WEIGHT(n_max, j + b, first);
      UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i)
          whole[i * ATTEND_CHANNELS(n_max) + k] += weights[i] * (u32)value;
    }
  }
}

// Sums a tile exactly in integers, then adds one float product for each query that sees it.
DEVICE void attend_add_integers(const AttendPages* kv, const AttendBlock* block,
                                const AttendShared* at, const AttendSegment* segment, s32 n_max,
                                float* sums) {
  const s32 first = THREAD / ATTEND_HALF * ATTEND_QUERIES(n_max), len = kv->page_len;
  if (first >= block->n) return;
  const s32 width = attend_int8_width(kv->head_dim);
  u32 whole[ATTEND_SUMS];
  UNROLL for (s32 i = 0; i < ATTEND_SUMS; ++i) whole[i] = 0;
  for (s32 page = segment->begin / len; page * len < segment->end; ++page) {
    const GLOBAL u32* const words =
        (const GLOBAL u32*)attend_chunk(kv, segment->first_page, page, kv->values);
    const s32 end = (page + 1) * len < segment->end ? (page + 1) * len : segment->end;
    s32 four = page * len < segment->begin ? (segment->begin - page * len) / 4 : 0;
    for (; page * len + 4 * four < end; ++four)
      attend_add_words(at, words + four * width, kv->head_dim, page * len + 4 * four,
                       segment->begin, end, n_max, whole);
  }
  attend_scale_sums(at, n_max, sums);
  UNROLL for (s32 i = 0; i < ATTEND_QUERIES(n_max); ++i) {
    if (at->begins[first + i] >= at->ends[first + i]) continue;
    UNROLL for (s32 k = 0; k < ATTEND_CHANNELS(n_max); ++k) {
      float* const sum = sums + i * ATTEND_CHANNELS(n_max) + k;
      *sum = FMA((float)(s32)whole[i * ATTEND_CHANNELS(n_max) + k], at->steps[first + i], *sum);
    }
  }
}
