// The mixtures of experts of a model, from the residual stream to their summands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/function_ref.h"
#include "base/thread_pool.h"
#include "contract/executor.h"
#include "exec/cpu/layers/gather_rows.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/layers/residual_stream.h"
#include "exec/cpu/layers/router.h"
#include "exec/cpu/pack/weights.h"

namespace pando::exec {

// Each expert multiplies the rows that chose it, all experts of a layer in one product, so that a
// step reads each chosen expert once (docs/arithmetic.md, "Mixtures of experts"). Owned by one
// Transformer, used by its thread.
class ExpertsLayer {
 public:
  // spec: of the share; whole: of the model. gather: empty if one rank has all outputs.
  ExpertsLayer(const model::ModelSpec& spec, const model::ModelSpec& whole,
               const kernel::Kernels& kernels, ThreadPool& pool, const GatherRows& gather,
               PhaseTimes& times);

  // Writes the layer's outputs for the first n_rows rows of x to x.sums(); reads these rows.
  void run(const LayerWeights& layer, uint32_t n_rows, ResidualStream& x, Products& products);

 private:
  // One row of one expert.
  struct Entry {
    uint32_t row;
    int expert;
  };
  // Some neighbouring entries of entries_.
  struct Batch {
    size_t begin, end;
    size_t size() const { return end - begin; }
  };
  // Groups of rows, each with a pair of matrices of its own.
  struct Groups {
    std::vector<std::span<const kernel::PackedMatrix>> gate_up, down;
    std::vector<int> ends;  // the row behind each group
    void clear() { gate_up.clear(), down.clear(), ends.clear(); }
    void add(const Stack& gate_up_of_one, const kernel::PackedMatrix& down_of_one, int end);
  };
  // Adds the bias of row `row`, in place, where there is one.
  using AddBias = FunctionRef<void(int row, float* gate_up)>;

  void norm_rows(const LayerWeights& layer, uint32_t n_rows, ResidualStream& x);
  void choose(const LayerWeights& layer, uint32_t n_rows, Products& products);
  void sort_by_expert(uint32_t n_rows);
  Batch batch_from(size_t begin) const;
  void add_batch(const LayerWeights& layer, Batch batch, uint32_t n_rows, float* sums,
                 Products& products);
  void add_shared(const LayerWeights& layer, uint32_t n_rows, float* sums, Products& products);
  void apply(int d_ff, int whole_d_ff, kernel::RowSource source, AddBias add_bias,
             Products& products);
  float* row_of(const AlignedBuffer& rows, uint32_t row) const {
    return rows.as<float>() + size_t{row} * d_model_;
  }

  const model::ModelSpec& spec_;         // of the share
  const model::ExpertsConfig& experts_;  // of the share
  int d_model_;
  float router_scale_;      // factor on the router's input, if it has a norm of its own
  int d_ff_, shared_d_ff_;  // of all ranks
  const kernel::Kernels& kernels_;
  ThreadPool& pool_;
  const GatherRows& gather_;
  PhaseTimes& times_;
  std::vector<Router> routers_;       // one for each thread
  std::vector<ChosenExpert> chosen_;  // [n_rows, n_used]
  std::vector<Entry> entries_;        // by expert, and of one expert by row
  std::vector<uint32_t> entry_of_;    // [n_rows, n_used] into entries_
  std::vector<uint32_t> begin_of_;    // [n_experts + 1] first entry of each expert
  Groups groups_;
  AlignedBuffer normed_;       // [n_rows, d_model] f32
  AlignedBuffer expert_rows_;  // the same, where experts read another norm
  AlignedBuffer routed_;       // the same, where the router does
  AlignedBuffer logits_;       // [n_rows, n_experts] f32
  AlignedBuffer gate_up_;      // [rows of groups, n_inner() * d_ff] f32
  AlignedBuffer inner_;        // [rows of groups, own d_ff] f32, where there are several ranks
  AlignedBuffer all_inner_;    // [rows of groups, d_ff] f32
  AlignedBuffer outputs_;      // [rows of groups, own d_model] f32
  AlignedBuffer own_sums_;     // [n_rows, own d_model] f32, where there are several ranks
  AlignedBuffer all_outputs_;  // [n_rows, d_model] f32
};

}  // namespace pando::exec
