// `length_ordered`: padded batches of prompts of similar length, from all that wait: Prepacking's
// oracle (4.1, E.2).
#include "plan/padded_planner.h"

namespace pando {

std::unique_ptr<Planner> make_length_ordered_planner(PlannerOptions& options, int tile_len) {
  return std::make_unique<PaddedPlanner>("length_ordered", Batching::Order::kLength, options,
                                         tile_len);
}

}  // namespace pando
