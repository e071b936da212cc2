#include "hub/cached_models.h"

#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/errors.h"
#include "hub/cache.h"
#include "hub/file_lock.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "models--", kBetween = "--";
constexpr size_t kLocksAtOnce = 128;  // each is an open file

// The id that "models--org--name" stands for; nothing for other folders.
std::optional<ModelId> id_of_folder(const std::string& name) {
  if (!name.starts_with(kFolder)) return std::nullopt;
  std::string id = name.substr(kFolder.size());
  const size_t between = id.find(kBetween);
  if (between == id.npos) return std::nullopt;
  return parse_model_id(id.replace(between, kBetween.size(), "/"));
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure))
    entries.push_back(at->path());
  std::ranges::sort(entries);
  return entries;
}

// Nothing if the folder is a link.
std::vector<fs::path> own_entries_of(const fs::path& folder) {
  std::error_code failure;
  return fs::is_symlink(folder, failure) ? std::vector<fs::path>() : entries_of(folder);
}

// Branches and tags of a repository that name this commit.
std::vector<std::string> refs_of(const CachedRepository& repository, const std::string& commit) {
  std::vector<std::string> refs = names_below(repository.folder() / "refs");
  std::erase_if(refs, [&](const std::string& ref) { return repository.commit_of(ref) != commit; });
  return refs;
}

// The name of the blob that a snapshot's link points to; empty for other files.
std::string blob_of(const fs::path& link) {
  std::error_code failure;
  const fs::path target = fs::read_symlink(link, failure);
  return failure || target.parent_path().filename() != "blobs" ? "" : target.filename().string();
}

uint64_t removed_bytes(const fs::path& path) {
  std::error_code failure;
  const bool is_plain = fs::is_regular_file(fs::symlink_status(path, failure));
  const uintmax_t size = is_plain ? fs::file_size(path, failure) : 0;
  return failure ? 0 : size;
}

Result<FileLock> lock_now(const fs::path& path) {
  return FileLock::acquire(path, [] { return false; });
}

// The lock of a blob, or of one that is not whole.
fs::path lock_of(const CachedRepository& repository, const fs::path& blob) {
  const std::string name = blob.filename().string();
  return repository.lock(name.substr(0, name.find('.')));
}

// kUnavailable if another process fetches a blob.
Status check_locks(const CachedRepository& repository) {
  std::vector<fs::path> paths = entries_of(repository.locks());
  std::erase(paths, repository.model_lock());
  for (const fs::path& blob : entries_of(repository.folder() / "blobs"))
    paths.push_back(lock_of(repository, blob));
  for (const fs::path& path : paths)
    if (const Result<FileLock> lock = lock_now(path); !lock) return lock.error();
  return {};
}

// True for a temporary file older than an hour. Running processes rename theirs at once.
bool is_left_over(const fs::path& path) {
  constexpr time_t kHour = 3600;
  struct stat found {};
  return path.filename().string().starts_with(kTemporary) && lstat(path.c_str(), &found) == 0 &&
         found.st_mtime + kHour < time(nullptr);
}

class Removal {
 public:
  explicit Removal(const CachedRepository& repository) : repository_(repository) {}

  // Removes the links that fit `choice`, or the snapshot if it is empty. False: nothing fits.
  bool remove_from(const fs::path& snapshot, const ModelId& id) {
    if (id.choice.empty()) return erase(snapshot) > 0;
    std::error_code failure;
    if (fs::is_symlink(snapshot, failure)) return false;  // its files are outside the cache
    const Result<ChosenFiles> files = choose_files(id, names_below(snapshot), Need::kModel);
    if (!files) return false;
    for (const std::string& name : files->weights) erase(snapshot / name);
    // Removes folders that are empty now.
    for (fs::path at = (snapshot / files->weights[0]).parent_path(); at != snapshot.parent_path();
         at = at.parent_path()) {
      std::error_code not_empty;
      fs::remove(at, not_empty);
    }
    return true;
  }

  // Removes refs and listings without a snapshot, contents that no link of a snapshot names, and
  // temporary files. Leaves files that another process began to fetch after the removal began.
  void sweep() {
    std::error_code failure;
    for (const std::string& ref : names_below(repository_.folder() / "refs"))
      if (repository_.commit_of(ref).empty())
        erase(repository_.folder() / "refs" / ref);
    for (const fs::path& listing : entries_of(repository_.listings()))
      if (!fs::exists(repository_.snapshot(listing.stem().string()), failure))
        erase(listing);
    const std::vector<fs::path> blobs = own_entries_of(repository_.folder() / "blobs");
    for (size_t at = 0; at < blobs.size(); at += kLocksAtOnce)
      remove_unneeded(std::span(blobs).subspan(at, std::min(kLocksAtOnce, blobs.size() - at)));
    for (const fs::path& path : entries_of(repository_.folder()))
      if (is_left_over(path)) erase(path);
  }

  // Removes the empty folders of a model. Stops if another process has begun to fetch the model.
  void remove_folders() {
    const fs::path& folder = repository_.folder();
    for (const char* name : {"blobs", "snapshots"})
      if (!erase_empty(folder / name)) return;
    for (const fs::path& path : entries_of(folder)) {
      const std::string name = path.filename().string();
      if (name == "blobs" || name == "snapshots") return;
      erase(path);
    }
    if (!erase_empty(folder)) return;
    for (const fs::path& path : entries_of(repository_.locks())) {
      if (path == repository_.model_lock()) continue;
      if (const Result<FileLock> lock = lock_now(path); lock) erase(path);
    }
    erase(repository_.model_lock());
    erase_empty(repository_.locks());
  }

  Result<Removed> result() const {
    if (failure_)
      return in_file(repository_.folder().string(),
                     io_error("cannot be removed: {}", failure_.message()));
    if (is_busy_)
      return in_file(repository_.folder().string(),
                     make_error(ErrorCode::kUnavailable,
                                "is being fetched by another process, whose files stay"));
    return removed_;
  }

 private:
  // Returns the number of removed files and folders.
  uintmax_t erase(const fs::path& path) {
    std::error_code failure;
    const uintmax_t n = fs::remove_all(path, failure);
    note(failure);
    return failure ? 0 : n;
  }

  // Returns false if the folder is not empty.
  bool erase_empty(const fs::path& folder) {
    std::error_code failure;
    fs::remove(folder, failure);
    note(failure);
    return failure != std::errc::directory_not_empty;
  }

  // Only another process puts something into a folder that is being removed.
  void note(const std::error_code& failure) {
    if (failure == std::errc::directory_not_empty)
      is_busy_ = true;
    else if (failure)
      failure_ = failure;
  }

  void remove_unneeded(std::span<const fs::path> blobs) {
    std::map<fs::path, FileLock> locks;
    std::vector<fs::path> locked;
    for (const fs::path& blob : blobs) {
      const fs::path path = lock_of(repository_, blob);
      if (!locks.contains(path)) {
        Result<FileLock> lock = lock_now(path);
        if (!lock) continue;
        locks.emplace(path, std::move(*lock));
      }
      locked.push_back(blob);
    }
    std::set<std::string> needed;  // by links that exist after the locks are taken
    for (const fs::path& snapshot : entries_of(repository_.folder() / "snapshots"))
      for (const std::string& name : names_below(snapshot)) needed.insert(blob_of(snapshot / name));
    for (const fs::path& blob : locked)
      if (!needed.contains(blob.filename().string())) {
        count(blob);
        erase(blob);
      }
  }

  void count(const fs::path& blob) {
    ++removed_.n_files;
    removed_.n_bytes += removed_bytes(blob);
  }

  const CachedRepository& repository_;
  Removed removed_;
  std::error_code failure_;
  bool is_busy_ = false;
};

}  // namespace

Result<std::vector<CachedRevision>> cached_models(const fs::path& cache) {
  std::error_code failure;
  std::vector<CachedRevision> revisions;
  if (fs::exists(cache, failure) && !fs::is_directory(cache, failure))
    return in_file(cache.string(), bad_file("is not a directory"));
  for (const fs::path& folder : entries_of(cache)) {
    const std::optional<ModelId> id = id_of_folder(folder.filename().string());
    if (!id) continue;
    const CachedRepository repository(cache, *id);
    for (const fs::path& snapshot : entries_of(folder / "snapshots")) {
      if (!fs::is_directory(snapshot, failure)) continue;
      CachedRevision revision{id->repository(), snapshot.filename().string()};
      revision.refs = refs_of(repository, revision.commit);
      revision.files = names_below(snapshot);
      revision.snapshot = snapshot;
      for (const std::string& file : revision.files) {
        const uintmax_t size = fs::file_size(snapshot / file, failure);
        if (!failure) revision.n_bytes += size;
      }
      revisions.push_back(std::move(revision));
    }
  }
  return revisions;
}

Result<Removed> remove_cached(const fs::path& cache, const ModelId& id,
                              const std::string& revision) {
  const CachedRepository repository(cache, id);
  std::error_code failure;
  if (!fs::is_directory(fs::symlink_status(repository.folder(), failure)))
    return not_found("'{}' is not in the local hub cache: {} does not exist", id.repository(),
                     repository.folder().string());
  const Result<FileLock> lock = lock_now(repository.model_lock());
  if (!lock) return lock.error();
  if (Status status = check_locks(repository); !status) return status.error();
  const bool is_whole = id.choice.empty() && revision.empty();
  const fs::path folder = repository.folder() / "snapshots";
  std::vector<fs::path> snapshots = own_entries_of(folder);
  if (!revision.empty()) {
    const std::string commit = repository.commit_of(revision);
    if (commit.empty())
      return not_found("'{}' has no revision '{}' in the local hub cache", id.repository(),
                       revision);
    snapshots = {repository.snapshot(commit)};
  }
  Removal removal(repository);
  bool any = is_whole;
  for (const fs::path& snapshot : snapshots) any |= removal.remove_from(snapshot, id);
  if (!any)
    return not_found("'{}' is not in the local hub cache, in {}", id.text(),
                     repository.folder().string());
  removal.sweep();
  if (is_whole || own_entries_of(folder).empty()) removal.remove_folders();
  return removal.result();
}

}  // namespace pando::hub
