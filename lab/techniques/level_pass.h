// The levels of a step, as Hydragen's planner hands them to attention.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/cpu/layers/layer_attention.h"
#include "lab/kernel/level_attention.h"
#include "plan/planner.h"

namespace pando::lab {

// Each row meets its path level by level, and the partial results are merged by their log-sum-exp.
// These tasks take the place of the plan's.
struct LevelRows {
  std::vector<kernel::LevelTask> tasks;
  std::vector<PageId> pages;           // of the tasks
  std::vector<uint32_t> states_begin;  // [n_rows + 1] row r merges states[states_begin[r] ..)
  std::vector<uint32_t> states;        // in order of their levels
};

// A planner whose rows attend level by level.
class LevelPlanner : public Planner {
 public:
  const LevelRows& levels() const { return *levels_; }  // of the step that was planned last
  exec::LayerAttention attention() const;               // of the steps that it plans

 protected:
  std::shared_ptr<LevelRows> levels_ = std::make_shared<LevelRows>();
};

}  // namespace pando::lab
