// What is particular to attention over latents: the way from rows to queries and keys, and from
// attended latents to values. docs/arithmetic.md, "Latent attention". Source: DeepSeek-V2, section
// 2.1, in its absorbed form.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "exec/cpu/products.h"
#include "kernel/kernels.h"
#include "model/config.h"
#include "model/layer_weights.h"
#include "model/rope.h"

namespace pando::exec {

// Owned by one AttentionLayer, used by its thread.
class LatentAttention {
 public:
  LatentAttention(const model::ModelConfig& config, const kernel::Kernels& kernels);

  // Room for n_rows rows, of which `project` makes queries and keys.
  void begin(uint32_t n_rows);
  // All products up to attention, of the rows that `source` yields. Writes the still channels of
  // queries, now those of the latent: [n_rows, n_heads, head_dim] f32 with rows row_len apart.
  void project(const model::LayerWeights& weights, uint32_t n_rows, kernel::RowSource source,
               Products& products, float* queries, int64_t row_len);
  // The rest of one row's queries [n_heads, head_dim] and its key [head_dim], at position pos.
  void finish_row(const model::LayerWeights& weights, const model::RopeTable& rope, uint32_t pos,
                  uint32_t row, float* queries, float* key) const;
  // Rows of attended latents, [n_rows, n_heads, head_dim] f32, become rows of values.
  void expand(const model::LayerWeights& weights, uint32_t n_rows, float* attended,
              Products& products);

  int dim() const { return dim_; }  // of a row of values: n_heads * value_dim
  float* row(uint32_t row) { return values_.as<float>() + size_t{row} * dim_; }

 private:
  // The queries of one row, [n_heads, query_dim].
  const float* queries_of(uint32_t row) const;

  const model::ModelConfig& config_;
  const model::LatentConfig& latent_;
  const kernel::Kernels& kernels_;
  int dim_;
  int first_dim_, key_at_;  // outputs of the first projection; where latents begin in them
  AlignedBuffer first_;     // [n_rows, first_dim_] f32
  AlignedBuffer queries_;   // [n_rows, n_heads * query_dim] f32, where first_ has inner rows
  AlignedBuffer values_;    // [n_rows, dim_] f32
};

}  // namespace pando::exec
