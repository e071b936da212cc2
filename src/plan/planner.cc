#include "plan/planner.h"

#include "base/errors.h"

namespace pando {

Result<std::unique_ptr<Planner>> make_planner(std::string_view name, int tile_len) {
  if (name == "tree") return make_tree_planner(tile_len);
  if (name == "packed") return make_packed_planner(tile_len);
  if (name == "prefix_cached") return make_prefix_cached_planner(tile_len);
  return invalid_argument("unknown sharing '{}': expected tree, packed or prefix_cached", name);
}

}  // namespace pando
