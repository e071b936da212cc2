#include "plan/planner.h"

#include <algorithm>

#include "base/errors.h"
#include "pando/sharing.h"
#include "plan/planner_options.h"

namespace pando {
namespace {

struct Named {
  const char* name;
  std::unique_ptr<Planner> (*make)(PlannerOptions& options, int tile_len);
};

// A planner without options.
template <std::unique_ptr<Planner> (*kMake)(int)>
std::unique_ptr<Planner> plain(PlannerOptions&, int tile_len) {
  return kMake(tile_len);
}

constexpr Named kPlanners[] = {
    {"tree", plain<make_tree_planner>},
    {"packed", plain<make_packed_planner>},
    {"prefix_cached", plain<make_prefix_cached_planner>},
    {"radix", make_radix_planner},
    {"prepacked", make_prepacked_planner},
    {"padded", make_padded_planner},
    {"length_ordered", make_length_ordered_planner},
    {"hydragen", make_hydragen_planner},
    {"stacked", make_stacked_planner},
    {"no_attention", plain<make_no_attention_planner>},
};

}  // namespace

std::vector<std::string> sharing_names() {
  std::vector<std::string> names;
  for (const Named& planner : kPlanners) names.emplace_back(planner.name);
  return names;
}

Result<std::unique_ptr<Planner>> make_planner(std::string_view sharing, int tile_len) {
  PlannerOptions options(sharing);
  const auto* found = std::ranges::find(kPlanners, options.name(), &Named::name);
  if (found == std::end(kPlanners)) {
    std::string names;
    for (const Named& planner : kPlanners)
      names += (names.empty() ? "" : ", ") + std::string(planner.name);
    return invalid_argument("unknown sharing '{}': expected one of {}", options.name(), names);
  }
  std::unique_ptr<Planner> planner = found->make(options, tile_len);
  if (Status status = options.status(); !status) return status.error();
  return planner;
}

Result<SharingInfo> sharing_info(const std::string& sharing) {
  const Result<std::unique_ptr<Planner>> planner = make_planner(sharing, 64);
  if (!planner) return planner.error();
  return SharingInfo{.name = std::string((*planner)->name()),
                     .exact = (*planner)->exact(),
                     .wrong = (*planner)->wrong(),
                     .batches = (*planner)->batching().whole_prompts()};
}

}  // namespace pando
