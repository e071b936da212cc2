// What is particular to attention over latents: the way from rows to queries and keys, and from
// attended latents to values. docs/arithmetic.md, "Latent attention". Source: DeepSeek-V2, section
// 2.1, in its absorbed form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "exec/cpu/products.h"
#include "kernel/kernels.h"
#include "model/config.h"
#include "model/layer_weights.h"
#include "model/rope.h"

namespace pando::exec {

// Owned by one AttentionLayer, used by its thread.
class LatentAttention {
 public:
  LatentAttention(const model::ModelConfig& config, const kernel::Kernels& kernels,
                  ThreadPool& pool);

  // All products up to attention, of the n_rows rows that `source` yields.
  void project(const model::LayerWeights& weights, uint32_t n_rows, kernel::RowSource source,
               Products& products);
  // Writes queries [n_heads, head_dim] and key [head_dim] of one of these rows, at position pos.
  // Any thread.
  void write_row(const model::LayerWeights& weights, const model::RopeTable& rope, uint32_t pos,
                 uint32_t row, float* queries, float* key) const;
  // Rows of attended latents, [n_rows, n_heads, head_dim] f32, become rows of values.
  void expand(const model::LayerWeights& weights, uint32_t n_rows, float* attended,
              Products& products);

  int dim() const { return dim_; }  // of a row of values: n_heads * value_dim
  float* row(uint32_t row) { return values_.as<float>() + size_t{row} * dim_; }

 private:
  using HeadRow = FunctionRef<const float*(int head, int row)>;
  // Multiplies rows by the matrix of each head, into by_head_.
  void multiply_heads(std::span<const kernel::PackedMatrix> heads, HeadRow source,
                      Products& products);
  // What it wrote: `n` outputs of each.
  const float* of_head(int head, uint32_t row, int n) const {
    return by_head_.as<float>() + (size_t(head) * n_rows_ + row) * n;
  }
  const float* queries_of(uint32_t row) const;  // [n_heads, query_dim]

  const model::ModelConfig& config_;
  const model::LatentConfig& latent_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  int dim_;
  int first_dim_, key_at_;  // outputs of the first projection; where latents begin in them
  uint32_t n_rows_ = 0;
  AlignedBuffer first_;    // [n_rows, first_dim_] f32
  AlignedBuffer queries_;  // [n_rows, n_heads * query_dim] f32, where first_ has inner rows
  AlignedBuffer by_head_;  // [n_heads, n_rows, rank or value_dim] f32
  AlignedBuffer values_;   // [n_rows, dim_] f32
  std::vector<std::span<const kernel::PackedMatrix>> groups_;  // [n_heads]
  std::vector<int> group_ends_;                                // [n_heads]
};

}  // namespace pando::exec
