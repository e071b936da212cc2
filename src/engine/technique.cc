#include "engine/technique.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/errors.h"
#include "pando/values/sharing.h"

namespace pando {
namespace {

// A planner without options.
template <std::unique_ptr<Planner> (*kMake)(int)>
Technique plain(TechniqueOptions&, int tile_len) {
  return {.planner = kMake(tile_len)};
}

std::vector<NamedTechnique>& techniques() {
  static std::vector<NamedTechnique> all = {{"tree", plain<make_tree_planner>},
                                            {"packed", plain<make_packed_planner>},
                                            {"prefix_cached", plain<make_prefix_cached_planner>}};
  return all;
}

}  // namespace

void register_techniques(std::span<const NamedTechnique> more) {
  techniques().insert(techniques().end(), more.begin(), more.end());
}

std::span<const NamedTechnique> registered_techniques() { return techniques(); }

Result<Technique> make_technique(std::string_view sharing, int tile_len) {
  TechniqueOptions options(sharing);
  const auto found = std::ranges::find(techniques(), options.name(), &NamedTechnique::name);
  if (found == techniques().end())
    return invalid_argument("unknown sharing '{}', expected one of {}", options.name(),
                            fmt::join(sharing_names(), ", "));
  Technique technique = found->make(options, tile_len);
  if (Status status = options.status(); !status) return status.error();
  return technique;
}

}  // namespace pando
