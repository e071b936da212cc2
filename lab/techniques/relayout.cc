#include "lab/techniques/relayout.h"

#include <algorithm>

#include "base/check.h"

namespace pando::lab {

PathsOfStep paths_of(const RowLayout& layout) {
  std::vector<PathRows> paths;
  for (const RowRun& run : layout.runs) {
    if (!run.continues_previous) paths.push_back({run.node, run.row_begin, 0});
    paths.back().tip = run.node;
    paths.back().end = run.row_end;
  }
  const std::vector<uint32_t>& positions = layout.step.plan.positions;
  PathsOfStep of_step;
  for (const PathRows& path : paths) {
    const bool whole = positions[path.begin] == 0 && positions[path.end - 1] + 1 == path.n_rows();
    (whole ? of_step.prompts : of_step.others).push_back(path);
  }
  return of_step;
}

const Node* root_of(const Node* node) {
  while (!node->is_root()) node = node->parent;
  return node;
}

uint32_t relayout(PlannedStep& step, std::span<const uint32_t> order, uint32_t n_masked) {
  const StepPlan old = std::move(step.plan);
  StepPlan& plan = step.plan;
  plan = {};
  std::vector<uint32_t> row_of(old.n_rows(), kPad);
  uint32_t n_idle = 0;
  plan.slot_begin.push_back(0);
  for (uint32_t row = 0; row < order.size(); ++row) {
    const bool pad = order[row] == kPad;
    plan.tokens.push_back(pad ? 0 : old.tokens[order[row]]);
    plan.positions.push_back(pad ? 0 : old.positions[order[row]]);
    if (!pad) {
      row_of[order[row]] = row;
      plan.slots.insert(plan.slots.end(), old.slots.begin() + old.slot_begin[order[row]],
                        old.slots.begin() + old.slot_begin[order[row] + 1]);
    }
    plan.slot_begin.push_back(static_cast<uint32_t>(plan.slots.size()));
    step.n_pads += pad;
    n_idle += pad && row >= n_masked;
  }
  PANDO_CHECK(std::ranges::count(row_of, kPad) == 0);
  plan.copies = old.copies;
  plan.task_pages = old.task_pages;
  for (AttentionTask task : old.tasks) {
    const uint32_t begin = row_of[task.row_begin];
    if (begin < n_masked) continue;
    task.row_end = begin - n_masked + task.row_end - task.row_begin;
    task.row_begin = begin - n_masked;
    plan.tasks.push_back(task);
  }
  for (uint32_t& output : step.output_of) output = row_of[old.outputs[output]];
  list_outputs(step);
  return n_idle;
}

void add_stack(MaskedRows& masked, std::span<const uint32_t> seen_from,
               std::span<const uint32_t> positions, int page_len, int tile_len) {
  const auto n = static_cast<uint32_t>(seen_from.size()), page = static_cast<uint32_t>(page_len),
             tile = static_cast<uint32_t>(tile_len);
  const uint32_t n_tiles = (n + tile - 1) / tile, n_pages = (n + page - 1) / page;
  if (masked.slot_begin.empty()) masked.slot_begin.push_back(0);
  const auto first_page = static_cast<uint32_t>(masked.pages.size());
  masked.stacks.push_back({masked.n_rows(), masked.n_rows() + n, n, first_page,
                           static_cast<uint32_t>(masked.masks.size()),
                           static_cast<uint32_t>(masked.cell_positions.size())});
  for (uint32_t i = 0; i < n_pages; ++i) masked.pages.push_back(first_page + i);
  for (uint32_t row = 0; row < n; ++row) {
    masked.slots.push_back({first_page + row / page, row % page});
    masked.slot_begin.push_back(static_cast<uint32_t>(masked.slots.size()));
    for (uint32_t i = 0; i < n_tiles; ++i) {
      uint64_t bits = 0;
      for (uint32_t cell = std::max(i * tile, seen_from[row]);
           cell < std::min((i + 1) * tile, row + 1); ++cell)
        bits |= uint64_t{1} << (cell - i * tile);
      masked.masks.push_back(bits);
    }
  }
  masked.cell_positions.insert(masked.cell_positions.end(), positions.begin(), positions.end());
}

}  // namespace pando::lab
