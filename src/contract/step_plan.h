// One forward pass as a plain value: all that an executor reads. No pointers, so that it can be
// sent to another process (step_plan_bytes.h).
#pragma once

#include <cstdint>
#include <vector>

#include "contract/pages.h"
#include "pando/values/token.h"

namespace pando {

// Window pages that a step reads and writes, of layers with a sliding window.
struct WindowLists {
  std::vector<uint32_t> slot_begin;  // as those of a StepPlan; recomputed rows may write
  std::vector<KvSlot> slots;
  std::vector<PageCopy> copies;
  // [n StepPlan::task_pages]. kNoPage: no row of the task sees the tile. If rows see the tile but
  // not this page, any page.
  std::vector<PageId> task_pages;
  bool operator==(const WindowLists&) const = default;
};

struct StepPlan {
  // One row per token to compute, in depth-first pre-order of the tree: the rows below any node are
  // one contiguous range.
  std::vector<Token> tokens;        // [n_rows]
  std::vector<uint32_t> positions;  // [n_rows] depth on the row's path
  // Row r writes its key and value to slots[slot_begin[r] .. slot_begin[r + 1]): to none if it is
  // recomputed, to several if it is fanned out.
  std::vector<uint32_t> slot_begin;  // [n_rows + 1]
  std::vector<KvSlot> slots;
  std::vector<PageCopy> copies;      // carried out in order, before the rows
  std::vector<AttentionTask> tasks;  // by tile, then by row; each row meets each tile once
  std::vector<PageId> task_pages;
  WindowLists windows;  // empty if pages are for all layers
  // Steps of models whose rows see both ways have these, by row: each row is in one text, and has
  // one slot. Nothing else is in such a step.
  std::vector<TextPasses> texts;
  std::vector<uint32_t> token_types;  // [n_rows]; empty: all 0
  // By row, for models with recurrent layers. Each row is in one task.
  std::vector<StateTask> state_tasks;
  std::vector<StateWrite> state_writes;  // by row; at most one for each
  std::vector<uint32_t> outputs;         // rows whose final hidden states are wanted, ascending
  std::vector<uint32_t> hidden_only;     // outputs whose logits nobody reads

  uint32_t n_rows() const { return static_cast<uint32_t>(tokens.size()); }
  bool operator==(const StepPlan&) const = default;
};

}  // namespace pando
