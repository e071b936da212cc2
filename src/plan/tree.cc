// `tree`: every distinct (path, token) is one row, every shared tile is met once by all rows below
// it, at every level, prefill and decode mixed. IPPD, Hydragen, Prepacking and RadixMLP in one.
#include "plan/layout_planner.h"

namespace pando {

std::unique_ptr<Planner> make_tree_planner(int tile_len) {
  return std::make_unique<LayoutPlanner>("tree", /*shares_tokens=*/true,
                                         TaskSharing::kAcrossSequences, tile_len);
}

}  // namespace pando
