// Queries, keys and values of attention whose heads have keys and values of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/layers/attention_rows.h"
#include "exec/cpu/layers/gather_rows.h"
#include "exec/cpu/layers/layer_ropes.h"
#include "exec/share.h"

namespace pando::exec {

class HeadRows : public AttentionRows {
 public:
  // gather: empty if one rank has all heads.
  HeadRows(const model::ModelSpec& spec, const kernel::Kernels& kernels, ThreadPool& pool,
           int context, ModelShare share, GatherRows gather, PhaseTimes& times);

  QkvParts parts(int layer) const override { return parts_[layer]; }
  void project(int layer, const LayerWeights& weights, uint32_t n_rows, kernel::RowSource source,
               float* qkv, Products& products) override;
  // Bias, norms, rotary embedding, and the growth of queries with the position.
  void complete(int layer, const LayerWeights& weights, uint32_t row, uint32_t pos,
                float* qkv) const override;
  // Multiplies attended values by the sigmoids of their gates, where there are any.
  float* outputs(int layer, const LayerWeights& weights, uint32_t n_rows, const float* qkv,
                 float* attended, Products& products) override;

 private:
  void join_and_norm(int layer, const LayerWeights& weights, uint32_t n_rows, float* qkv);
  void fill(int layer, const LayerWeights& weights, float* qkv) const;
  void norm_all_heads(const LayerWeights& weights, float* q, size_t q_dim, float* k,
                      size_t k_dim) const;

  const model::ModelSpec& spec_;
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  LayerRopes ropes_;
  ModelShare share_;
  GatherRows gather_;
  std::vector<QkvParts> parts_;  // [n_layers]
  bool joins_heads_;             // norms over all heads need those of other ranks
  std::vector<float> ones_;      // [head_dim of any layer]: weights of a norm without any
  PhaseTimes& times_;
  // Queries and keys for norms over all heads, [n_rows, (n_heads + n_kv_heads) * head_dim] f32 of
  // this rank and of all.
  AlignedBuffer own_, joined_;
};

}  // namespace pando::exec
