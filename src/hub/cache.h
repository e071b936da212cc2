// The folder of a model in the cache that the hub's own library uses:
//   models--org--name/blobs/ETAG            contents
//                     refs/REVISION         the commit of a branch or tag
//                     snapshots/COMMIT/FILE relative links to blobs
//                     .pando/COMMIT.json    names of the files on the hub; that library reads none
//   .locks/models--org--name/ETAG.lock
//                            .pando.lock    shared by fetches, exclusive for a removal
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/choose_files.h"
#include "hub/model_id.h"
#include "pando/values/result.h"

namespace pando::hub {

// Prefix of temporary names in the folder of a model. They are renamed at once, and scans of the
// cache skip them.
inline constexpr const char* kTemporary = ".pando-";

class CachedRepository {
 public:
  CachedRepository(const std::filesystem::path& cache, const ModelId& id);

  const std::filesystem::path& folder() const { return folder_; }
  const std::filesystem::path& locks() const { return locks_; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path incomplete(const std::string& etag) const {
    return folder_ / "blobs" / (etag + ".incomplete");
  }
  std::filesystem::path lock(const std::string& etag) const { return locks_ / (etag + ".lock"); }
  std::filesystem::path model_lock() const { return locks_ / ".pando.lock"; }
  std::filesystem::path snapshot(const std::string& commit) const {
    return folder_ / "snapshots" / commit;
  }
  std::filesystem::path listings() const { return folder_ / ".pando"; }

  // The commit of a branch or tag, or `revision` itself if it is a commit; empty if it is unknown.
  std::string commit_of(const std::string& revision) const;
  // Writes the ref atomically.
  Status write_ref(const std::string& revision, const std::string& commit) const;

  // Names of the files that a commit has on the hub. Nothing if they were not kept.
  std::optional<std::vector<std::string>> listing(const std::string& commit) const;
  Status keep_listing(const std::string& commit, const std::vector<std::string>& names) const;

  // True if the snapshot has the file with its contents.
  bool has(const std::string& commit, const std::string& name) const;
  // Links the file of a snapshot to a blob. `name` must be safe. kBadFile if a folder on the way is
  // a link that leads out of the snapshot.
  Status link(const std::string& commit, const std::string& name, const std::string& etag) const;

 private:
  Status write_whole(const std::filesystem::path& path, const std::string& text) const;

  std::filesystem::path folder_, locks_;
};

// A model that was found in the cache.
struct CachedModel {
  std::filesystem::path path;  // a snapshot, or a GGUF file in it
  bool has_weights = false, has_tokenizer = false;
  std::string commit = {};
  // Files that the model needs and the hub has, sorted. Nothing: it is not known what the hub has.
  std::optional<std::vector<std::string>> missing = std::nullopt;
};

// Finds a model. Returns nothing without a snapshot of this revision that holds the id's choice.
std::optional<CachedModel> find_cached(const std::filesystem::path& cache, const ModelId& id,
                                       const std::string& revision, Need need);

// Names of all files below a folder, relative to it, without broken links, sorted.
std::vector<std::string> names_below(const std::filesystem::path& folder);

}  // namespace pando::hub
