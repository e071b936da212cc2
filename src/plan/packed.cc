// `packed`: ragged rows, nothing shared. Each sequence has a tree of its own, so that the common
// layout finds nothing to share; positions restart with each sequence (Prepacking, section 3.2).
#include "plan/layout_planner.h"

namespace pando {

std::unique_ptr<Planner> make_packed_planner(int tile_len) {
  return std::make_unique<LayoutPlanner>("packed", /*shares_tokens=*/false,
                                         TaskSharing::kAcrossSequences, tile_len);
}

}  // namespace pando
