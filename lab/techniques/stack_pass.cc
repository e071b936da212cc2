#include "lab/techniques/stack_pass.h"

#include "lab/techniques/relayout.h"

namespace pando::lab {
namespace {

KvSlot slot(std::span<const PageId> pages, uint32_t cell, uint32_t page_len) {
  return {pages[cell / page_len], cell % page_len};
}

// Rows [begin, end) of the pass, all of one stack, against all its cells.
void add_masks(MaskedRows& masked, const Stack& stack, const StackPass& pass, uint32_t begin,
               uint32_t end, uint32_t tile_len) {
  const StackCells& cells = stack.cells;
  masked.stacks.push_back({begin, end, cells.size(), static_cast<uint32_t>(masked.pages.size()),
                           static_cast<uint32_t>(masked.masks.size()),
                           static_cast<uint32_t>(masked.cell_positions.size())});
  masked.pages.insert(masked.pages.end(), stack.pages.begin(), stack.pages.end());
  masked.cell_positions.insert(masked.cell_positions.end(), cells.position.begin(),
                               cells.position.end());
  for (uint32_t row = begin; row < end; ++row)
    cells.append_mask(pass.rows[row].cell, tile_len, masked.masks);
}

void add_rows(PlannedStep& step, const StackPass& pass, const StackMemory& memory,
              MaskedRows& masked) {
  StepPlan& plan = step.plan;
  masked.slot_begin.push_back(0);
  for (const StackRow& row : pass.rows) {
    const bool pad = row.packed == kPad;
    plan.tokens.push_back(pad ? 0 : pass.packed.tokens[row.packed]);
    plan.positions.push_back(pad ? 0 : pass.packed.positions[row.packed]);
    if (row.everywhere) {
      masked.slots.push_back(slot(memory.instruction, row.cell, memory.page_len));
      for (const Stack& stack : memory.stacks)
        masked.slots.push_back(slot(stack.pages, row.cell, memory.page_len));
    } else {
      masked.slots.push_back(slot(memory.stacks[row.stack].pages, row.cell, memory.page_len));
    }
    masked.slot_begin.push_back(static_cast<uint32_t>(masked.slots.size()));
    step.n_pads += pad;
  }
  plan.slot_begin.assign(pass.rows.size() + 1, 0);
}

}  // namespace

PlannedStep plan_stack_pass(const PlannedStep& packed, const StackPass& pass,
                            const StackMemory& memory, uint32_t tile_len, MaskedRows& masked) {
  PlannedStep step{.n_recomputed = packed.n_recomputed};
  add_rows(step, pass, memory, masked);
  const auto n_rows = static_cast<uint32_t>(pass.rows.size());
  uint32_t begin = 0;
  for (uint32_t s = 0; s < memory.stacks.size(); ++s) {
    uint32_t end = begin;
    while (end < n_rows && pass.rows[end].stack == s) ++end;
    if (end > begin) add_masks(masked, memory.stacks[s], pass, begin, end, tile_len);
    begin = end;
  }
  for (const uint32_t output : packed.output_of)
    step.output_of.push_back(pass.row_of[packed.plan.outputs[output]]);
  list_outputs(step);
  return step;
}

}  // namespace pando::lab
