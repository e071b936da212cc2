#include "pando/values/sharing.h"

#include "engine/technique.h"

namespace pando {

std::vector<std::string> sharing_names() {
  std::vector<std::string> names;
  for (const NamedTechnique& technique : registered_techniques())
    names.emplace_back(technique.name);
  return names;
}

Result<SharingInfo> sharing_info(const std::string& sharing) {
  constexpr int kAnyTile = 64;
  const Result<Technique> technique = make_technique(sharing, kAnyTile);
  if (!technique) return technique.error();
  return SharingInfo{.name = std::string(technique->planner->name()),
                     .exact = technique->exact,
                     .warning = technique->warning,
                     .batches = technique->batcher != nullptr};
}

}  // namespace pando
