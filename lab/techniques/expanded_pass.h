// Attention in a layout that has a row for every copy of a token: RadixMLP, section 3.4.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exec/cpu/layers/layer_attention.h"
#include "plan/planner.h"

namespace pando::lab {

// The rows of attention where they are not those of the plan; the plan's tasks then mean these
// rows. Empty where attention has the rows of the plan.
struct ExpandedRows {
  std::vector<uint32_t> scatter;    // [n_expanded] the row of the plan whose query each takes
  std::vector<uint32_t> positions;  // [n_expanded]
  std::vector<uint32_t> gather;     // [n_rows] the expanded row whose result each row takes

  bool empty() const { return scatter.empty(); }
};

// A planner whose attention has rows of its own.
class ExpandedPlanner : public Planner {
 public:
  const ExpandedRows& expanded() const { return *expanded_; }  // of the step that was planned last
  exec::LayerAttention attention() const;                      // of the steps that it plans

 protected:
  std::shared_ptr<ExpandedRows> expanded_ = std::make_shared<ExpandedRows>();
};

}  // namespace pando::lab
