// `length_ordered`: padded batches of prompts of similar length, from all that wait: Prepacking's
// oracle (4.1, E.2).
#include "lab/techniques/padded_planner.h"

namespace pando::lab {

Technique length_ordered_technique(TechniqueOptions& options, int tile_len) {
  return padded_batches("length_ordered", StaticBatching::Order::kLength, options, tile_len);
}

}  // namespace pando::lab
