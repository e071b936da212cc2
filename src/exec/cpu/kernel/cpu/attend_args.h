// Arguments of the attention kernels, for all instruction sets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

// One tile of one KV head against query rows that all have it on their paths. Padded: rounded up to
// sixteen; values in the padding are never used.
struct AttendTileArgs {
  DType type;  // of keys and values
  int head_dim;
  int page_len;
  int tile_len;
  int n_pages;                     // pages of the tile, enough for every visible position
  const std::byte* const* keys;    // [n_pages] chunks; exec/cpu/kernel/kv_layout.h
  const std::byte* const* values;  // [n_pages]
  const std::byte* const* ahead;   // [n_ahead] chunks of the next call, to be prefetched
  int n_ahead;
  int n_queries;
  float cap;  // of scores; 0: none
  // A query sees positions [from, visible) of the tile, at least one.
  const int32_t* visible;  // [n_queries]
  const int32_t* from;     // [n_queries], or null: 0 for all
  bool first;              // first tile of a span: max, sum and acc are written, not updated
  bool keep_masked;        // deliberate fault: masked values are multiplied by zero, not skipped
  const float* q;          // [n_queries, padded head_dim] f32, scaled
  float* max;              // [n_queries] f32, base 2
  float* sum;              // [n_queries, 16] f32, lane = position in the tile mod 16
  float* acc;              // [n_queries, padded head_dim] f32
  float* scores;           // [n_queries, padded tile_len] f32 work space: scores, then weights
  float* factor;           // [n_queries] f32 work space
  bool widen_once;         // not in registers for each block of queries: the same bits
  float* widened;          // [kStripChannels, padded tile_len] f32 work space
  // int8 only:
  const int8_t* q_int8;        // [n_queries, padded head_dim], instead of q
  const QuantizedRow* q_rows;  // [n_queries]
  uint8_t* shares;             // [n_queries, padded tile_len] work space
  float* share_scale;          // [n_queries] work space
  float* to_share;             // [n_queries] work space
  std::byte* gathered;         // int8_gathered_bytes() of work space
};

// Channels that all query rows meet at a time: 64 x 64 f32 stay in a first-level cache.
inline constexpr int kStripChannels = 64;

// Work space of a tile of int8: scales, and where pages are short the tile's elements.
static constexpr int64_t int8_gathered_bytes(int tile_len, int head_dim) {
  const int64_t n = (tile_len + 15) / 16 * 16;
  return n * (2 * 4 + head_dim + (head_dim + 15) / 16 * 16);
}

// a becomes merge(a, b): the states of two neighbouring spans or aligned groups of spans.
struct MergeSpansArgs {
  int head_dim;
  float* max_a;  // [1] f32, base 2
  float* sum_a;  // [1] f32
  float* acc_a;  // [padded head_dim] f32
  const float* max_b;
  const float* sum_b;
  const float* acc_b;
};

}  // namespace pando::kernel
