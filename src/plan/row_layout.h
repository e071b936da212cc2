// Rows of a step in depth-first pre-order, with the pages of their paths.
#pragma once

#include <vector>

#include "plan/planner.h"

namespace pando {

// Consecutive rows of one node.
struct RowRun {
  uint32_t row_begin;
  uint32_t row_end;
  uint32_t page_begin;  // index into RowLayout::pages
  uint32_t n_pages;     // pages of the path, from position 0 to the run's last row
  const Node* node;
  bool continues_previous;  // the node is a child of the run before: one path goes through both
};

struct RowLayout {
  PlannedStep step;  // all but the attention tasks
  std::vector<RowRun> runs;
  std::vector<PageId> pages;
};

// IPPD 4.1 (virtual positions), Prepacking 3.2 (restart positions) and RadixMLP 3.2 (one row per
// distinct path and token) at once: the position of a token is its depth.
RowLayout lay_out_rows(const KvCache& cache, const std::vector<WantedOutput>& wanted);

// On entry step.output_of holds a row for each wanted output. Writes the distinct rows to the
// plan's list of outputs, and replaces output_of by indices into that list.
void list_outputs(PlannedStep& step);

}  // namespace pando
