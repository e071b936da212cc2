#include "schedule/schedule.h"

#include <algorithm>

#include "schedule/step_draft.h"

namespace pando {

namespace {

// The rows that each prefill takes of the equal share of its part.
std::vector<uint32_t> rows_in_parts(const WorkView& view, StepDraft draft, uint32_t budget) {
  std::vector<uint32_t> rows(view.items.size(), 0);
  const uint32_t n_parts = view.ranks.n_parts;
  if (n_parts == 1) return rows;
  std::vector<uint32_t> left(n_parts, budget / n_parts);
  for (uint32_t i = 0; i < view.items.size(); ++i) {
    if (view.items[i].decoding) continue;
    uint32_t& of_part = left[view.items[i].part];
    rows[i] = draft.take(i, of_part);
    of_part -= rows[i];
  }
  return rows;
}

}  // namespace

std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget) {
  StepDraft draft(view);
  for (uint32_t i = 0; i < view.items.size(); ++i)
    if (view.items[i].decoding) budget -= draft.take(i, budget);
  const std::vector<uint32_t> rows = rows_in_parts(view, draft, budget);
  for (const uint32_t n : rows) budget -= n;
  for (uint32_t i = 0; i < view.items.size(); ++i)
    if (!view.items[i].decoding) budget += rows[i] - draft.take(i, rows[i] + budget);
  return draft.advances();
}

}  // namespace pando
