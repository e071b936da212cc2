// `padded`: batches in order of arrival, as a library makes them (Prepacking 4.1, "full batching").
#include "lab/techniques/padded_planner.h"

namespace pando::lab {

Technique padded_technique(TechniqueOptions& options, int tile_len) {
  return padded_batches("padded", StaticBatching::Order::kArrival, options, tile_len);
}

}  // namespace pando::lab
