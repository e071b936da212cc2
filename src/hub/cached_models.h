// The models in a cache: listed and removed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hub/model_id.h"
#include "pando/values/result.h"

namespace pando::hub {

struct CachedRevision {
  std::string repository;  // "org/name"
  std::string commit;
  std::vector<std::string> refs;   // branches and tags that mean it, sorted
  uint64_t n_bytes = 0;            // of its files
  std::vector<std::string> files;  // sorted
  std::filesystem::path snapshot;
};

// All snapshots of models, sorted by repository and commit. A cache that does not exist is empty.
Result<std::vector<CachedRevision>> cached_models(const std::filesystem::path& cache);

struct Removed {
  uint64_t n_files = 0, n_bytes = 0;  // contents that are gone
};

// Removes a model: all of it; or with `revision`, or with a choice in the id, one snapshot or the
// GGUF file in it, and the contents that nothing else needs. An empty revision with a choice means
// every snapshot. kNotFound if there is none, kUnavailable while a process fetches the model. Links
// are removed, never followed.
Result<Removed> remove_cached(const std::filesystem::path& cache, const ModelId& id,
                              const std::string& revision);

}  // namespace pando::hub
