// A pass over stacks, as a StepPlan with dense masks: IPPD 4.1.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/techniques/masked_pass.h"
#include "lab/techniques/stack.h"
#include "plan/planner.h"

namespace pando::lab {

struct Stack {
  StackCells cells;
  std::vector<kernel::PageId> pages;  // cell c is position c % page_len of page c / page_len
};

struct StackRow {
  uint32_t packed;  // row of the packed step; kPad
  uint32_t stack, cell;
  bool
      everywhere;  // of the instruction: the same cell of every stack, and of the pages kept for it
};

struct StackPass {
  const StepPlan& packed;
  std::vector<StackRow> rows;    // by stack
  std::vector<uint32_t> row_of;  // by packed row
};

// The pages that a pass works in.
struct StackMemory {
  std::span<const Stack> stacks;
  std::span<const kernel::PageId> instruction;  // that is kept for later batches
  uint32_t page_len;
};

// The rows of `pass` in place of those of `packed`, which wants the outputs; their cells and masks
// are added to `masked`.
PlannedStep plan_stack_pass(const PlannedStep& packed, const StackPass& pass,
                            const StackMemory& memory, uint32_t tile_len, MaskedRows& masked);

}  // namespace pando::lab
