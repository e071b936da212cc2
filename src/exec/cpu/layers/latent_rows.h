// Queries and keys of attention over latents, and values of attended latents. docs/arithmetic.md,
// "Latent attention". Source: DeepSeek-V2, section 2.1, in its absorbed form.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/layers/attention_rows.h"
#include "exec/cpu/layers/layer_ropes.h"

namespace pando::exec {

class LatentRows : public AttentionRows {
 public:
  LatentRows(const model::ModelSpec& spec, const kernel::Kernels& kernels, ThreadPool& pool,
             int context);

  QkvParts parts(int layer) const override;
  // The products stay here: `complete` writes qkv.
  void project(int layer, const LayerWeights& weights, uint32_t n_rows, kernel::RowSource source,
               float* qkv, Products& products) override;
  // Writes queries [n_heads, head_dim] and key [head_dim].
  void complete(int layer, const LayerWeights& weights, uint32_t row, uint32_t pos,
                float* qkv) const override;
  // Attended latents [n_rows, n_heads, head_dim] become values [n_rows, n_heads, value_dim].
  float* outputs(int layer, const LayerWeights& weights, uint32_t n_rows, const float* qkv,
                 float* attended, Products& products) override;

 private:
  using HeadRow = FunctionRef<const float*(int head, int row)>;
  // Multiplies rows by the matrix of each head, into by_head_.
  void multiply_heads(std::span<const kernel::PackedMatrix> heads, HeadRow source,
                      Products& products);
  // Result of multiply_heads() for a head and row: [n].
  const float* of_head(int head, uint32_t row, int n) const {
    return by_head_.as<float>() + (size_t(head) * n_rows_ + row) * n;
  }
  const float* queries_of(uint32_t row) const;  // [n_heads, query_dim]

  const model::ModelSpec& spec_;
  const model::LatentConfig& latent_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  LayerRopes ropes_;
  int dim_;                 // of a row of values: n_heads * value_dim
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
