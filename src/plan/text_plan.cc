#include "plan/text_plan.h"

#include <algorithm>

#include "base/check.h"

namespace pando {
namespace {

void add_rows(const PlannedText& text, int page_len, StepPlan& plan) {
  const auto n_rows = static_cast<uint32_t>(text.tokens.size());
  const uint32_t first = plan.n_rows();
  const uint64_t last = text.end - 1;
  plan.tokens.insert(plan.tokens.end(), text.tokens.begin(), text.tokens.end());
  plan.texts.push_back({.row_begin = first,
                        .row_end = first + n_rows,
                        .first_pass = static_cast<uint32_t>(text.begin / n_rows),
                        .first_row = static_cast<uint32_t>(text.begin % n_rows),
                        .end_pass = static_cast<uint32_t>(last / n_rows),
                        .end_row = static_cast<uint32_t>(last % n_rows) + 1});
  for (uint32_t row = 0; row < n_rows; ++row) {
    plan.positions.push_back(row);
    plan.slot_begin.push_back(first + row + 1);
    plan.slots.push_back({text.pages[row / page_len], row % page_len});
    plan.token_types.push_back(text.token_types.empty() ? 0 : text.token_types[row]);
  }
  for (const uint32_t row : text.outputs) plan.outputs.push_back(first + row);
}

// All rows meet all tiles of their text.
void add_tasks(const PlannedText& text, const TextPasses& passes, uint32_t pages_per_tile,
               StepPlan& plan) {
  const auto n_pages = static_cast<uint32_t>(text.pages.size());
  const auto first = static_cast<uint32_t>(plan.task_pages.size());
  plan.task_pages.insert(plan.task_pages.end(), text.pages.begin(), text.pages.end());
  for (uint32_t page = 0; page < n_pages; page += pages_per_tile)
    plan.tasks.push_back({.tile = page / pages_per_tile,
                          .row_begin = passes.row_begin,
                          .row_end = passes.row_end,
                          .first_page = first + page,
                          .n_pages = std::min(pages_per_tile, n_pages - page)});
}

}  // namespace

StepPlan plan_texts(std::span<const PlannedText> texts, int page_len, int tile_len) {
  StepPlan plan;
  plan.slot_begin.push_back(0);
  for (const PlannedText& text : texts) {
    PANDO_CHECK(text.begin < text.end && !text.tokens.empty());
    add_rows(text, page_len, plan);
    add_tasks(text, plan.texts.back(), static_cast<uint32_t>(tile_len / page_len), plan);
  }
  std::ranges::stable_sort(plan.tasks, {}, &AttentionTask::tile);
  if (std::ranges::all_of(plan.token_types, [](uint32_t type) { return type == 0; }))
    plan.token_types.clear();
  plan.hidden_only = plan.outputs;
  return plan;
}

}  // namespace pando
