#include "exec/ranks/kv_routes.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"
#include "exec/share.h"

namespace pando::exec {

KvRoutes::KvRoutes(const StepPlan& plan, const KvParts& parts)
    : n_rows_(plan.n_rows()),
      n_blocks_(*std::ranges::max_element(plan.positions) / parts.block_len + 1),
      holders_(size_t{n_blocks_} * n_rows_, kNobody),
      reads_(size_t{parts.n_parts} * n_rows_, 0) {
  PANDO_CHECK(parts.n_parts < kNobody);
  const uint32_t tiles_each = parts.block_len / parts.tile_len;
  for (const AttentionTask& task : plan.tasks) {
    const uint32_t part = plan.task_pages[task.first_page] / parts.n_pages_each;
    PANDO_CHECK(part < parts.n_parts);
    uint8_t* const holders = holders_.data() + size_t{task.tile / tiles_each} * n_rows_;
    for (uint32_t row = task.row_begin; row < task.row_end; ++row) {
      PANDO_CHECK(holders[row] == kNobody || holders[row] == part);
      holders[row] = static_cast<uint8_t>(part);
      reads_[size_t{part} * n_rows_ + row] = 1;
    }
  }
}

RowRange rows_of_part(uint32_t n_rows, const KvParts& parts, uint32_t part) {
  const uint32_t n_dealt = std::clamp(n_rows / parts.rows_each, 1u, parts.n_parts);
  if (part >= n_dealt) return {n_rows, n_rows};
  const auto [begin, end] =
      part_of(static_cast<int>(n_rows), static_cast<int>(part), static_cast<int>(n_dealt));
  return {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

StepPlan plan_of_part(const StepPlan& plan, const KvParts& parts, uint32_t part) {
  PANDO_CHECK(plan.state_tasks.empty() && plan.windows.slot_begin.empty());
  const auto is_own = [&](PageId page) { return page / parts.n_pages_each == part; };
  const auto own_number = [&](PageId page) { return page % parts.n_pages_each; };
  StepPlan own{.tokens = plan.tokens, .positions = plan.positions, .slot_begin = {0}};
  own.outputs = plan.outputs;
  for (uint32_t row = 0; row < plan.n_rows(); ++row) {
    for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
      if (const KvSlot& slot = plan.slots[i]; is_own(slot.page))
        own.slots.push_back({own_number(slot.page), slot.offset});
    own.slot_begin.push_back(static_cast<uint32_t>(own.slots.size()));
  }
  for (const PageCopy& copy : plan.copies) {
    PANDO_CHECK(is_own(copy.from) == is_own(copy.to));
    if (is_own(copy.to) && !(part > 0 && fault_on(Fault::kCopyOnFirstPart)))
      own.copies.push_back({own_number(copy.from), own_number(copy.to), copy.n_positions});
  }
  for (AttentionTask task : plan.tasks) {
    const auto first = plan.task_pages.begin() + task.first_page;
    if (!is_own(*first)) continue;
    task.first_page = static_cast<uint32_t>(own.task_pages.size());
    std::transform(first, first + task.n_pages, std::back_inserter(own.task_pages), own_number);
    own.tasks.push_back(task);
  }
  return own;
}

// Whole blocks on every part, then the rest of the part in which the path begins.
size_t longest_path(size_t part_len, const KvParts& parts) {
  const size_t n_blocks = part_len / parts.block_len;
  return n_blocks * parts.block_len * parts.n_parts + part_len % parts.block_len;
}

}  // namespace pando::exec
