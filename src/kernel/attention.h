// Attention of a step: every query row against the tiles of keys and values on its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernel/attention_task.h"
#include "kernel/kernels.h"
#include "kernel/kv_layout.h"

namespace pando::kernel {

struct AttentionArgs {
  KvView kv;
  int layer;
  int n_heads;       // query heads; a multiple of the KV heads, neighbours share one
  float scale;       // multiplies queries: log2(e) / sqrt(head_dim)
  float cap = 0.0f;  // scores s become cap tanh(s / cap), log2(e) included; 0: they stay
  int window = 0;    // a query at p sees positions behind p - window; 0: all up to its own
  std::span<const uint32_t> positions;   // [n_rows]
  std::span<const AttentionTask> tasks;  // by tile, then by row; each row meets each tile once
  std::span<const PageId> task_pages;
  const float* q;    // [n_rows, n_heads, head_dim] f32, rotated, not scaled
  int64_t q_stride;  // values between rows of q
  float* out;        // [n_rows, n_heads, head_dim] f32
};

// Memory that `attention` reuses between calls; one per engine, used by one call at a time.
class AttentionScratch {
 public:
  // At least n_bytes for each of n_workers and n_shared_bytes for all; grows, never shrinks.
  void reserve(int n_workers, size_t n_bytes, size_t n_shared_bytes);
  std::byte* of(int worker) const { return buffer_.data() + worker * bytes_each_; }
  std::byte* shared() const { return shared_.data(); }

 private:
  AlignedBuffer buffer_;
  AlignedBuffer shared_;
  size_t bytes_each_ = 0;
};

// docs/arithmetic.md, "Attention". Equal bits for any grouping of rows into tasks and any number
// of threads. Source of the batching over shared pages: Hydragen, sections 3.2 and 3.3.
void attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& args,
               AttentionScratch& scratch);

}  // namespace pando::kernel
