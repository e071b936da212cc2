// Rows of a step under dense masks, as the planners that use them hand them to attention:
// Prepacking 3.2, IPPD 4.1, padded batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/cpu/layers/layer_attention.h"
#include "lab/kernel/masked_attention.h"
#include "plan/planner.h"

namespace pando::lab {

// The first rows of the plan stand in stacks, and have masks instead of tasks. The plan's tasks
// count rows from the first row behind the stacks.
struct MaskedRows {
  std::vector<kernel::MaskedStack> stacks;
  std::vector<PageId> pages;             // of the stacks' cells
  std::vector<uint64_t> masks;           // as in lab/kernel/masked_attention.h
  std::vector<uint32_t> cell_positions;  // [cells of all stacks]
  // Cells that row r of the stacks writes: slots[slot_begin[r] .. slot_begin[r + 1]).
  std::vector<uint32_t> slot_begin;  // [n_rows() + 1]
  std::vector<KvSlot> slots;
  std::vector<PageCopy> copies;  // carried out before the rows
  // The planner's own pages, of all layers. Absent: cells last for this pass only, and `pages`
  // count from 0 in memory that the attention owns.
  std::optional<kernel::KvView> memory;
  uint32_t n_idle = 0;  // rows at the end of the plan that attend to nothing

  uint32_t n_rows() const { return stacks.empty() ? 0 : stacks.back().row_end; }
};

// The step that was planned last. A planner writes the rows, and its attention reads them.
struct MaskedPass {
  MaskedRows rows;
  uint64_t n_planned = 0, n_computed = 0;  // steps; equal once the last step has come to its end
};

// A planner with rows under masks, rows with tasks, and rows that attend to nothing.
class MaskedPlanner : public Planner {
 public:
  const MaskedRows& masked() const { return pass_->rows; }  // of the step that was planned last
  exec::LayerAttention attention() const;                   // of the steps that it plans
  MaskedPass& pass() { return *pass_; }

 protected:
  std::shared_ptr<MaskedPass> pass_ = std::make_shared<MaskedPass>();
};

}  // namespace pando::lab
