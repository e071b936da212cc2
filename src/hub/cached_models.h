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
  std::vector<std::string> refs;   // branches and tags that name this commit, sorted
  uint64_t n_bytes = 0;            // of its files
  std::vector<std::string> files;  // sorted
  std::filesystem::path snapshot;
};

// All snapshots of models, sorted by repository and commit; none if there is no cache.
Result<std::vector<CachedRevision>> cached_models(const std::filesystem::path& cache);

struct Removed {
  uint64_t n_files = 0, n_bytes = 0;  // removed contents
};

// Removes a model. A `revision` limits this to one snapshot; a choice in the id limits it to one
// GGUF file, in every snapshot if the revision is empty. Contents that nothing else needs are
// removed too. kNotFound if nothing fits, kUnavailable while a process fetches the model. Links are
// removed, never followed.
Result<Removed> remove_cached(const std::filesystem::path& cache, const ModelId& id,
                              const std::string& revision);

}  // namespace pando::hub
