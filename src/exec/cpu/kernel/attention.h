// Attention of a step: every query row against the tiles of keys and values on its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/pages.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

struct AttentionArgs {
  KvView kv;
  int layer;
  int n_heads;       // query heads; a multiple of the KV heads, neighbours share one
  float scale;       // multiplies queries: log2(e) / sqrt(head_dim)
  float cap = 0.0f;  // scores s become cap tanh(s / cap), log2(e) included; 0: they stay
  int window = 0;    // a query at p sees positions behind p - window; 0: all up to its own
  // [n_heads] a score of each head that takes weight and has no value, log2(e) included; null: none
  const float* sinks = nullptr;
  std::span<const uint32_t> positions;  // [n_rows]
  // [n_rows] the last position that a row sees; empty: its own.
  std::span<const uint32_t> last_seen = {};
  std::span<const AttentionTask> tasks;  // by tile, then by row; each row meets each tile once
  std::span<const PageId> task_pages;
  const float* q;    // [n_rows, n_heads, head_dim] f32, rotated, not scaled
  int64_t q_stride;  // values between rows of q
  float* out;        // [n_rows, n_heads, head_dim] f32

  std::span<const uint32_t> all_last() const { return last_seen.empty() ? positions : last_seen; }
  uint32_t last(int64_t row) const { return all_last()[row]; }
};

// Memory that `attention` reuses between calls; one per engine, used by one call at a time.
class AttentionScratch {
 public:
  // Makes room for n_bytes for each of n_workers, and n_shared_bytes for all; grows, never shrinks.
  void reserve(int n_workers, size_t n_bytes, size_t n_shared_bytes);
  std::byte* of(int worker) const { return buffer_.data() + worker * bytes_each_; }
  std::byte* shared() const { return shared_.data(); }

 private:
  AlignedBuffer buffer_;
  AlignedBuffer shared_;
  size_t bytes_each_ = 0;
};

// The state of one row and head after some spans, as f32: the maximum, the sum, and behind 16
// values the weighted sum of values, [padded head_dim].
size_t state_len(int head_dim);

// The keys and values of a path may be divided into blocks: aligned runs of spans, each of which is
// here as a whole or elsewhere.
struct AttentionBlocks {
  uint32_t spans_each;            // spans of a block, a power of two
  std::span<const uint8_t> here;  // [n_blocks, n_rows]: not 0 where args.tasks have the row's tiles
  float* states;                  // [n_blocks, n_rows, n_heads, state_len]

  float* of(uint32_t block, uint32_t row, size_t n_rows, size_t row_len) const {
    return states + (block * n_rows + row) * row_len;
  }
};

// docs/arithmetic.md, "Attention". Equal bits for any grouping of rows into tasks and any number
// of threads. Source of the batching over shared pages: Hydragen, sections 3.2 and 3.3.
void attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               AttentionScratch& scratch);

// The first half of `attention`, for the blocks that are here: writes their states, and not
// args.out.
void attend_blocks(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
                   const AttentionBlocks& blocks, AttentionScratch& scratch);
// The second half, where the states of all blocks are there: writes the row's values to `out`,
// [n_heads, head_dim] f32. Uses up its states.
void finish_blocks(const Kernels& kernels, const AttentionArgs& args, const AttentionBlocks& blocks,
                   uint32_t row, float* out);

}  // namespace pando::kernel
