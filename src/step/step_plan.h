// One forward pass as a plain value: all that the executor reads.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/attention.h"
#include "kernel/kv_layout.h"
#include "pando/token.h"

namespace pando {

// RadixMLP, section 3.4: attention in a layout that has a row for every copy of a token. Empty
// where attention has the rows of the plan.
struct ExpandedRows {
  std::vector<uint32_t> scatter;    // [n] the row whose query each has
  std::vector<uint32_t> positions;  // [n]
  std::vector<uint32_t> gather;     // [n_rows] the expanded row whose result each takes

  bool empty() const { return scatter.empty(); }
};

struct StepPlan {
  // One row per token to compute, in depth-first pre-order of the tree: the rows below any node are
  // one contiguous range.
  std::vector<Token> tokens;        // [n_rows]
  std::vector<uint32_t> positions;  // [n_rows] depth on the row's path
  std::vector<uint32_t>
      slot_begin;  // [n_rows + 1] row r writes slots[slot_begin[r], slot_begin[r + 1])
  std::vector<kernel::KvSlot> slots;         // none for a recomputed row, several for a fan-out
  std::vector<kernel::PageCopy> copies;      // carried out in order, before the rows
  std::vector<kernel::AttentionTask> tasks;  // by tile, then by row; each row meets each tile once
  std::vector<kernel::PageId> task_pages;
  ExpandedRows expanded;          // the rows of the tasks, where they are not those above
  std::vector<uint32_t> outputs;  // rows whose final hidden states are wanted, ascending

  uint32_t n_rows() const { return static_cast<uint32_t>(tokens.size()); }
};

}  // namespace pando
