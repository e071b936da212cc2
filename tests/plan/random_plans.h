// Random use of a cache where every step is laid out and planned, and plan and page memory checked
// by brute force.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cache/random_cache.h"
#include "contract/step_plan_bytes.h"
#include "plan/attention_tasks.h"
#include "plan/row_layout.h"

namespace pando {

// One row of a step: the token at `offset` of a node.
using RowOf = std::pair<const Node*, uint32_t>;

// Identifies the token of each row by the page that the row sees at its own position: a slot
// belongs to one token only.
inline std::vector<RowOf> identify_rows(const RowLayout& layout, const KvCache& cache) {
  const uint32_t page_len = cache.page_len();
  std::map<std::pair<PageId, uint32_t>, RowOf> owner;
  for (const Node* node : cache.tree().nodes())
    for (uint32_t i = 0; i < node->n_issued; ++i) {
      const uint32_t pos = node->start + i;
      const PageId page = node->pages.ids.at(pos / page_len - node->start / page_len);
      EXPECT_TRUE(owner.emplace(std::pair{page, pos % page_len}, RowOf{node, i}).second);
    }
  std::vector<RowOf> rows;
  for (const RowRun& run : layout.runs)
    for (uint32_t row = run.row_begin; row < run.row_end; ++row) {
      const uint32_t pos = layout.step.plan.positions.at(row);
      const PageId page = layout.pages.at(run.page_begin + pos / page_len);
      rows.push_back(owner.at({page, pos % page_len}));
    }
  return rows;
}

// By position.
inline std::vector<RowOf> rows_of(const WantedOutput& want) {
  std::vector<RowOf> rows;
  for (const Node* node : path_to(want.tip))
    for (uint32_t pos = std::max(node->start, want.begin); pos < std::min(node->end(), want.end);
         ++pos)
      rows.emplace_back(node, pos - node->start);
  return rows;
}

inline bool is_at_or_above(const Node* upper, const Node* node) {
  while (node != nullptr && node != upper) node = node->parent;
  return node == upper;
}

// --- rows ----------------------------------------------------------------------------------------

inline void check_rows(const RowLayout& layout, const std::vector<RowOf>& rows,
                       const KvCache& cache, const std::vector<WantedOutput>& wanted) {
  const StepPlan& plan = layout.step.plan;
  std::set<RowOf> expected, recomputed;
  for (const auto& [node, end] : cache.issued())
    for (uint32_t i = node->n_submitted; i < node->n_issued; ++i) expected.insert({node, i});
  for (const WantedOutput& want : wanted)
    for (const RowOf& row : rows_of(want))
      if (row.second < row.first->n_submitted) recomputed.insert(row);
  expected.insert(recomputed.begin(), recomputed.end());
  ASSERT_EQ(plan.n_rows(), expected.size());
  ASSERT_EQ(std::set<RowOf>(rows.begin(), rows.end()), expected);  // each once
  ASSERT_EQ(layout.step.n_recomputed, recomputed.size());

  std::map<const Node*, std::pair<uint32_t, uint32_t>> below;  // first row, number of rows
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const auto [node, offset] = rows[row];
    ASSERT_EQ(plan.tokens[row], node->tokens[offset]);
    ASSERT_EQ(plan.positions[row], node->start + offset);
    for (const Node* up = node; up != nullptr; up = up->parent) {
      const auto [entry, added] = below.try_emplace(up, row, 0u);
      ASSERT_EQ(entry->second.first + entry->second.second++, row)
          << "rows below a node have a gap";
      if (added || up != node) continue;
      ASSERT_EQ(rows[row - 1].first, node) << "a node's own rows come first,";
      ASSERT_LT(rows[row - 1].second, offset) << "in order";
    }
  }

  const Node* previous = nullptr;
  uint32_t n_in_runs = 0;
  for (const RowRun& run : layout.runs) {
    ASSERT_EQ(run.row_begin, n_in_runs);
    ASSERT_LT(run.row_begin, run.row_end);
    n_in_runs = run.row_end;
    const Node* node = rows[run.row_begin].first;
    ASSERT_EQ(rows[run.row_end - 1].first, node);
    ASSERT_EQ(run.continues_previous, previous != nullptr && node->parent == previous);
    previous = node;
    std::vector<PageId> table = page_table_of(node, cache.page_len());
    ASSERT_EQ(run.n_pages, plan.positions[run.row_end - 1] / cache.page_len() + 1);
    table.resize(run.n_pages);
    ASSERT_TRUE(std::equal(table.begin(), table.end(), layout.pages.begin() + run.page_begin));
  }
  ASSERT_EQ(n_in_runs, plan.n_rows());
}

inline void check_slots(const StepPlan& plan, const std::vector<RowOf>& rows,
                        const KvCache& cache) {
  using Slot = std::pair<PageId, uint32_t>;
  const uint32_t page_len = cache.page_len();
  ASSERT_EQ(plan.slot_begin.size(), rows.size() + 1);
  ASSERT_EQ(plan.slot_begin.front(), 0u);
  ASSERT_EQ(plan.slot_begin.back(), plan.slots.size());
  std::set<Slot> written;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const auto [node, offset] = rows[row];
    const uint32_t pos = node->start + offset;
    std::set<Slot> expected;
    if (offset >= node->n_submitted) {
      expected.emplace(node->pages.ids.at(pos / page_len - node->start / page_len), pos % page_len);
      for (const FanOut& out : cache.fan_outs())
        if (out.below != node && is_at_or_above(node, out.below) && pos >= out.pos_begin &&
            pos < out.pos_end)
          expected.emplace(out.page, pos - out.pos_begin);
    }
    std::set<Slot> found;
    for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i) {
      found.emplace(plan.slots[i].page, plan.slots[i].offset);
      ASSERT_TRUE(written.emplace(plan.slots[i].page, plan.slots[i].offset).second)
          << "written twice";
    }
    ASSERT_EQ(found, expected);
  }
}

inline void check_outputs(const PlannedStep& step, const std::vector<RowOf>& rows,
                          const std::vector<WantedOutput>& wanted) {
  const std::vector<uint32_t>& outputs = step.plan.outputs;
  ASSERT_TRUE(std::ranges::is_sorted(outputs, std::less_equal<>())) << "ascending, each once";
  std::set<uint32_t> used;
  size_t i = 0;
  for (const WantedOutput& want : wanted)
    for (const RowOf& expected : rows_of(want)) {
      const uint32_t row = outputs.at(step.output_of.at(i++));
      ASSERT_EQ(rows.at(row), expected);
      used.insert(row);
    }
  ASSERT_EQ(step.output_of.size(), i);
  ASSERT_EQ(used.size(), outputs.size());
}

// --- attention tasks -----------------------------------------------------------------------------

struct TaskRules {
  uint32_t page_len, tile_len;
  bool maximal;   // neighbours that could be one task are one
  bool one_path;  // no task has rows of two sequences
};

// `memory` is as the step's rows left it.
inline void check_tasks(const StepPlan& plan, const std::vector<RowOf>& rows,
                        const PageMemory& memory, const TaskRules& rules) {
  std::vector<std::vector<int>> n_met(rows.size());
  for (uint32_t row = 0; row < rows.size(); ++row)
    n_met[row].resize(plan.positions[row] / rules.tile_len + 1);

  for (const AttentionTask& task : plan.tasks) {
    ASSERT_LT(task.row_begin, task.row_end);
    ASSERT_LE(task.row_end, rows.size());
    ASSERT_LE(task.n_pages, rules.tile_len / rules.page_len);
    ASSERT_LE(task.first_page + task.n_pages, plan.task_pages.size());
    for (uint32_t row = task.row_begin; row < task.row_end; ++row) {
      ASSERT_LT(task.tile, n_met[row].size()) << "the row sees nothing of this tile";
      ++n_met[row][task.tile];
      const std::vector<Fingerprint> path = fingerprints_of(rows[row].first);
      const uint32_t end = std::min((task.tile + 1) * rules.tile_len, plan.positions[row] + 1);
      for (uint32_t pos = task.tile * rules.tile_len; pos < end; ++pos) {
        const uint32_t page = pos % rules.tile_len / rules.page_len;
        ASSERT_LT(page, task.n_pages);
        ASSERT_EQ(memory.at(plan.task_pages[task.first_page + page], pos % rules.page_len),
                  path[pos]);
      }
      if (rules.one_path) {
        ASSERT_TRUE(is_at_or_above(rows[row].first, rows[task.row_end - 1].first));
      }
    }
  }
  for (const std::vector<int>& tiles : n_met)
    for (const int n : tiles) ASSERT_EQ(n, 1) << "a row meets each tile once";

  for (size_t i = 1; i < plan.tasks.size(); ++i) {
    const AttentionTask &a = plan.tasks[i - 1], &b = plan.tasks[i];
    ASSERT_LT(std::pair(a.tile, a.row_begin), std::pair(b.tile, b.row_begin));
    if (!rules.maximal || a.tile != b.tile || a.row_end != b.row_begin) continue;
    const auto pages = plan.task_pages.begin();
    ASSERT_FALSE(std::equal(pages + a.first_page,
                            pages + a.first_page + std::min(a.n_pages, b.n_pages),
                            pages + b.first_page))
        << "neighbours with the same pages";
  }
}

// --- random steps --------------------------------------------------------------------------------

class RandomPlans : public RandomCache {
 public:
  // A planner that shares no tokens gets sequences that share none.
  RandomPlans(RandomCacheOptions options, Planner& planner, uint32_t tile_len)
      : RandomCache(fitting(options, planner)),
        planner_(planner),
        rules_{.page_len = static_cast<uint32_t>(options.page_len),
               .tile_len = tile_len,
               .maximal = planner.name() != "prefix_cached",
               .one_path = planner.name() != "tree"} {}

  int n_recomputed() const { return n_recomputed_; }
  int n_joined() const { return n_joined_; }  // tasks with rows of more than one path

 protected:
  void execute() override {
    std::vector<WantedOutput> wanted;
    for (const Sequence& sequence : sequences()) {
      const Node* tip = sequence.tip;
      if (tip->n_issued < tip->size() || below(3) == 0) continue;
      const uint32_t n = below(3) > 0 ? 1 : below(tip->end() + 1), end = tip->end() - below(2);
      wanted.push_back({sequence.tip, end - std::min(end, n), end});
    }

    const RowLayout layout = lay_out_rows(cache(), wanted);
    const std::vector<RowOf> rows = identify_rows(layout, cache());
    check_rows(layout, rows, cache(), wanted);
    const PlannedStep step = planner_.plan(cache(), wanted);
    const StepPlan& plan = step.plan;
    ASSERT_EQ(step_plan_from_bytes(to_bytes(plan)).value(), plan);
    ASSERT_EQ(plan.tokens, layout.step.plan.tokens);
    ASSERT_EQ(plan.positions, layout.step.plan.positions);
    check_slots(plan, rows, cache());
    check_outputs(step, rows, wanted);

    memory().carry_out(plan.copies);
    for (uint32_t row = 0; row < plan.n_rows(); ++row)
      for (uint32_t i = plan.slot_begin[row]; i < plan.slot_begin[row + 1]; ++i)
        memory().at(plan.slots[i].page, plan.slots[i].offset) =
            fingerprints_of(rows[row].first)[plan.positions[row]];
    check_tasks(plan, rows, memory(), rules_);

    n_recomputed_ += static_cast<int>(step.n_recomputed);
    for (const AttentionTask& task : plan.tasks)
      n_joined_ += !is_at_or_above(rows[task.row_begin].first, rows[task.row_end - 1].first);
  }

 private:
  static RandomCacheOptions fitting(RandomCacheOptions options, const Planner& planner) {
    if (!planner.shares_tokens()) options.n_keys = 0;
    return options;
  }

  Planner& planner_;
  TaskRules rules_;
  int n_recomputed_ = 0;
  int n_joined_ = 0;
};

}  // namespace pando
