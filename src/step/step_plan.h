// One forward pass as a plain value: all that the executor reads.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/attention.h"
#include "kernel/kv_layout.h"
#include "kernel/level_attention.h"
#include "kernel/masked_attention.h"
#include "pando/token.h"

namespace pando {

// RadixMLP, section 3.4: attention in a layout that has a row for every copy of a token. Empty
// where attention has the rows of the plan.
struct ExpandedRows {
  std::vector<uint32_t> scatter;    // [n] the row whose query each has
  std::vector<uint32_t> positions;  // [n]
  std::vector<uint32_t> gather;     // [n_rows] the expanded row whose result each takes

  bool empty() const { return scatter.empty(); }
};

// Dense masks: Prepacking 3.2, IPPD 4.1, padded batches. The first rows of the plan, in stacks,
// have these instead of tasks; the tasks count rows from those behind them.
struct MaskedRows {
  std::vector<kernel::MaskedStack> stacks;
  std::vector<kernel::PageId> pages;     // of the stacks' cells
  std::vector<uint64_t> masks;           // kernel/masked_attention.h
  std::vector<uint32_t> cell_positions;  // [cells of all stacks]
  // Cells that row r of the stacks writes: slots[slot_begin[r] .. slot_begin[r + 1]).
  std::vector<uint32_t> slot_begin;  // [n_rows() + 1]
  std::vector<kernel::KvSlot> slots;
  std::vector<kernel::PageCopy> copies;  // carried out before the rows
  // Pages of all layers, of the planner. Null: cells are of this pass only, and `pages` are counted
  // from 0 in memory of the executor.
  std::byte* memory = nullptr;

  uint32_t n_rows() const { return stacks.empty() ? 0 : stacks.back().row_end; }
};

// Hydragen: each row meets its path level by level, and the partial results are merged by their
// log-sum-exp. In place of tasks.
struct LevelRows {
  std::vector<kernel::LevelTask> tasks;
  std::vector<kernel::PageId> pages;   // of the tasks
  std::vector<uint32_t> states_begin;  // [n_rows + 1] row r merges states[states_begin[r] ..)
  std::vector<uint32_t> states;        // in order of their levels

  bool empty() const { return tasks.empty(); }
};

struct StepPlan {
  // One row per token to compute, in depth-first pre-order of the tree: the rows below any node are
  // one contiguous range.
  std::vector<Token> tokens;        // [n_rows]
  std::vector<uint32_t> positions;  // [n_rows] depth on the row's path
  std::vector<uint32_t>
      slot_begin;  // [n_rows + 1] row r writes slots[slot_begin[r], slot_begin[r + 1])
  std::vector<kernel::KvSlot> slots;         // none for a recomputed row, several for a fan-out
  std::vector<kernel::PageCopy> copies;      // carried out in order, before the rows
  std::vector<kernel::AttentionTask> tasks;  // by tile, then by row; each row meets each tile once
  std::vector<kernel::PageId> task_pages;
  ExpandedRows expanded;  // the rows of the tasks, where they are not those above
  MaskedRows masked;
  LevelRows levels;
  uint32_t n_idle = 0;            // rows at the end that attend to nothing
  bool skips_attention = false;   // of all rows: Hydragen's ceiling (4.1), whose output is wrong
  std::vector<uint32_t> outputs;  // rows whose final hidden states are wanted, ascending

  uint32_t n_rows() const { return static_cast<uint32_t>(tokens.size()); }
};

}  // namespace pando
