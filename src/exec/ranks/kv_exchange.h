// Attention over positions that are divided over ranks. Source: Medha, section 3.3.
#pragma once

#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "comm/comm.h"
#include "exec/cpu/layers/layer_attention.h"
#include "exec/cpu/layers/rows.h"
#include "exec/ranks/kv_routes.h"

namespace pando::exec {

// Each rank computes the products of some rows of a step, and the attention of all rows to its own
// pages. Queries, keys and values of a row go to the other ranks that have blocks of its path; the
// state of each block comes back, and the states merge in the tree of spans. So a row gets the bits
// that it gets on one rank. Ranks that need nothing from each other send nothing. One thread.
class KvExchange {
 public:
  // peers: the rank of each part, this one's own at `part`. `comm` outlives it.
  KvExchange(Comm& comm, std::vector<int> peers, uint32_t part, const KvParts& parts);

  // Starts a step, which must stay valid. The part's own plan is valid until the next call.
  const StepPlan& begin(const DealtStep& step);

  void spread(float* qkv, size_t row_len);  // SpreadRows
  void attend(const LayerPass& pass);       // LayerAttention

  // Bytes that were sent to the other parts.
  uint64_t n_bytes() const { return n_bytes_; }

 private:
  RowRange own_rows() const { return step_->rows_of(part_); }
  // Values for one peer, or from it.
  struct Parcel {
    std::vector<float> out, in;
  };
  template <class SizeFrom>
  void exchange(const SizeFrom& n_from);

  Comm& comm_;
  std::vector<int> others_;        // ranks
  std::vector<uint32_t> part_of_;  // the part of each of them
  uint32_t part_;
  KvParts parts_;
  const DealtStep* step_ = nullptr;
  KvRoutes routes_;
  StepPlan plan_;                // this part's
  std::vector<uint8_t> here_;    // [n_blocks, n_rows]
  std::vector<Parcel> parcels_;  // one for each of others_
  AlignedBuffer states_;         // [n_blocks, n_rows, n_heads, state_len] f32
  uint64_t n_bytes_ = 0;
};

}  // namespace pando::exec
