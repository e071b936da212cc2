// `padded`: batches in order of arrival, as a library makes them (Prepacking 4.1, "full batching").
#include "plan/padded_planner.h"

namespace pando {

std::unique_ptr<Planner> make_padded_planner(PlannerOptions& options, int tile_len) {
  return std::make_unique<PaddedPlanner>("padded", Batching::Order::kArrival, options, tile_len);
}

}  // namespace pando
