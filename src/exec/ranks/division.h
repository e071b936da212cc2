// Choice of the stages' layers and of the ranks that have the LM head.
#pragma once

#include <vector>

#include "contract/model_spec.h"
#include "contract/rank_layout.h"
#include "exec/ranks/part_costs.h"

namespace pando::exec {

struct Division {
  std::vector<int> cut;  // as in RankLayout
  bool divides_head = false;
  double seconds = 0;  // of the slowest stage, for a typical step
};

// The division with the fastest slowest stage, among those that the layout leaves open. If two are
// equal, the head is whole. link: bytes per second from a rank of the last stage to rank 0.
Division best_division(const model::ModelSpec& spec, const PartCosts& costs,
                       const RankLayout& layout, double link);

}  // namespace pando::exec
