#include "exec/ranks/kv_routes.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/fault.h"

namespace pando::exec {
namespace {

// The part that computes each row.
std::vector<uint8_t> parts_of_rows(const StepPlan& plan, const KvParts& parts) {
  const uint32_t n_rows = plan.n_rows();
  std::vector<uint8_t> part_of_row(n_rows, 0);
  if (parts.n_parts == 1) return part_of_row;
  const KvRoutes routes(plan, parts);
  // Gives no part more than n_most rows; returns the largest number of rows of a part.
  const auto deal = [&](uint32_t n_most) {
    std::vector<uint32_t> n_dealt(parts.n_parts, 0);
    for (uint32_t row = 0; row < n_rows; ++row) {
      uint32_t best = parts.n_parts;
      for (uint32_t part = 0; part < parts.n_parts; ++part)
        if (n_dealt[part] < n_most &&
            (best == parts.n_parts || routes.n_pages(part, row) > routes.n_pages(best, row)))
          best = part;
      part_of_row[row] = static_cast<uint8_t>(best);
      ++n_dealt[best];
    }
    return *std::ranges::max_element(n_dealt);
  };
  const uint32_t n_at_work = std::clamp(n_rows / parts.rows_each, 1u, parts.n_parts);
  const uint32_t n_even = (n_rows + n_at_work - 1) / n_at_work;
  if (deal(n_rows) > n_even + n_even / 4) deal(n_even);
  return part_of_row;
}

// The rows of a plan in another order.
class Reordered {
 public:
  // order: [n_rows] of the plan, ascending in each of the ranges that begin at row_begin.
  Reordered(const StepPlan& plan, std::span<const uint32_t> order,
            std::span<const uint32_t> row_begin)
      : plan_(plan), order_(order), row_begin_(row_begin) {}

  StepPlan plan() const {
    StepPlan moved{.slot_begin = {0}, .copies = plan_.copies, .task_pages = plan_.task_pages};
    for (const uint32_t row : order_) {
      moved.tokens.push_back(
          plan_.tokens[fault_on(Fault::kDealtTokensStay) ? moved.n_rows() : row]);
      moved.positions.push_back(plan_.positions[row]);
      moved.slots.insert(moved.slots.end(), plan_.slots.begin() + plan_.slot_begin[row],
                         plan_.slots.begin() + plan_.slot_begin[row + 1]);
      moved.slot_begin.push_back(static_cast<uint32_t>(moved.slots.size()));
    }
    for (const AttentionTask& task : plan_.tasks)
      for_ranges(task.row_begin, task.row_end, [&](uint32_t begin, uint32_t end) {
        moved.tasks.push_back({task.tile, begin, end, task.first_page, task.n_pages});
      });
    std::ranges::sort(moved.tasks, {}, [](const AttentionTask& task) {
      return std::pair(task.tile, task.row_begin);
    });
    for (const uint32_t row : plan_.outputs)
      for_ranges(row, row + 1, [&](uint32_t begin, uint32_t) { moved.outputs.push_back(begin); });
    std::ranges::sort(moved.outputs);
    return moved;
  }

 private:
  // Calls use(begin, end) for the new ranges of rows [begin, end).
  template <class Use>
  void for_ranges(uint32_t begin, uint32_t end, const Use& use) const {
    for (size_t i = 0; i + 1 < row_begin_.size(); ++i) {
      const auto place = [&](uint32_t row) {
        return static_cast<uint32_t>(std::lower_bound(order_.begin() + row_begin_[i],
                                                      order_.begin() + row_begin_[i + 1], row) -
                                     order_.begin());
      };
      if (const uint32_t from = place(begin), to = place(end); from < to) use(from, to);
    }
  }

  const StepPlan& plan_;
  std::span<const uint32_t> order_, row_begin_;
};

}  // namespace

KvRoutes::KvRoutes(const StepPlan& plan, const KvParts& parts)
    : n_rows_(plan.n_rows()),
      n_blocks_(*std::ranges::max_element(plan.positions) / parts.block_len + 1),
      holders_(size_t{n_blocks_} * n_rows_, kNobody),
      n_pages_(size_t{parts.n_parts} * n_rows_, 0) {
  PANDO_CHECK(parts.n_parts < kNobody);
  const uint32_t tiles_each = parts.block_len / parts.tile_len;
  for (const AttentionTask& task : plan.tasks) {
    const uint32_t part = plan.task_pages[task.first_page] / parts.n_pages_each;
    PANDO_CHECK(part < parts.n_parts);
    uint8_t* const holders = holders_.data() + size_t{task.tile / tiles_each} * n_rows_;
    for (uint32_t row = task.row_begin; row < task.row_end; ++row) {
      PANDO_CHECK(holders[row] == kNobody || holders[row] == part);
      holders[row] = static_cast<uint8_t>(part);
      n_pages_[size_t{part} * n_rows_ + row] += task.n_pages;
    }
  }
}

size_t DealtStep::n_outputs_of(uint32_t part) const {
  return std::ranges::count(output_parts, static_cast<uint8_t>(part));
}

DealtStep deal_rows(StepPlan plan, const KvParts& parts) {
  const std::vector<uint8_t> part_of_row = parts_of_rows(plan, parts);
  DealtStep dealt;
  for (const uint32_t row : plan.outputs) {
    dealt.output_parts.push_back(part_of_row[row]);
    dealt.reads_logits.push_back(!std::ranges::binary_search(plan.hidden_only, row));
  }
  std::vector<uint32_t> order;
  for (uint32_t part = 0; part < parts.n_parts; ++part) {
    dealt.row_begin.push_back(static_cast<uint32_t>(order.size()));
    for (uint32_t row = 0; row < plan.n_rows(); ++row)
      if (part_of_row[row] == part) order.push_back(row);
  }
  dealt.row_begin.push_back(plan.n_rows());
  const bool moves = !std::ranges::is_sorted(part_of_row);
  dealt.plan = moves ? Reordered(plan, order, dealt.row_begin).plan() : std::move(plan);
  return dealt;
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
