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
  std::vector<PageId> pages;  // cell c is position c % page_len of page c / page_len
};

struct StackRow {
  uint32_t packed;  // row of the packed step, or kPad
  uint32_t stack, cell;
  // A row of the instruction: written to the same cell of every stack and of the pages kept for it.
  bool everywhere;
};

struct StackPass {
  const StepPlan& packed;
  std::vector<StackRow> rows;    // by stack
  std::vector<uint32_t> row_of;  // by packed row
};

// The pages that a pass works in.
struct StackMemory {
  std::span<const Stack> stacks;
  std::span<const PageId> instruction;  // pages kept for later batches
  uint32_t page_len;
};

// A step with the rows of `pass` in place of those of `packed`, and the outputs that `packed`
// wants. Adds the cells and masks of these rows to `masked`.
PlannedStep plan_stack_pass(const PlannedStep& packed, const StackPass& pass,
                            const StackMemory& memory, uint32_t tile_len, MaskedRows& masked);

}  // namespace pando::lab
