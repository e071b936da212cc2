// `prefix_cached`: shared tokens are computed and stored once, and read again by every sequence
// that attends to them: paged attention with prefix caching, the baseline of IPPD 5 and Hydragen 4.
#include "plan/layout_planner.h"

namespace pando {

std::unique_ptr<Planner> make_prefix_cached_planner(int tile_len) {
  return std::make_unique<LayoutPlanner>("prefix_cached", /*shares_tokens=*/true,
                                         TaskSharing::kWithinSequence, tile_len);
}

}  // namespace pando
