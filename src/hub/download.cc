#include "hub/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "hub/digest.h"
#include "hub/file_lock.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;

constexpr int kMostWrongSums = 2;
constexpr int kRangeNotSatisfiable = 416;

// The growing file. Existing bytes are kept.
class PartialFile {
 public:
  static Result<PartialFile> open(const fs::path& path) {
    std::error_code failure;
    fs::create_directories(path.parent_path(), failure);
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    struct stat found {};
    if (descriptor < 0 || fstat(descriptor, &found) != 0)
      return io_error("cannot write {}: {}", path.string(), std::strerror(errno));
    return PartialFile(path, descriptor, static_cast<uint64_t>(found.st_size));
  }
  PartialFile(PartialFile&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        size_(other.size_) {}
  ~PartialFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  uint64_t size() const { return size_; }

  Status append(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return cannot_write();
      size_ += static_cast<uint64_t>(n);
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }
  Status clear() {
    size_ = 0;
    return ftruncate(descriptor_, 0) == 0 ? Status() : cannot_write();
  }
  // Syncs, so that a blob is complete even after a power failure.
  Status sync() { return fdatasync(descriptor_) == 0 ? Status() : cannot_write(); }

 private:
  PartialFile(fs::path path, int descriptor, uint64_t size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}
  Error cannot_write() const {
    return io_error("cannot write {}: {}", path_.string(), std::strerror(errno));
  }

  fs::path path_;
  int descriptor_;
  uint64_t size_;
};

class Download {
 public:
  Download(HubClient& client, const ModelId& id, const std::string& commit, const RemoteFile& file,
           Counters& counters, const std::atomic<bool>& stop)
      : client_(client), id_(id), commit_(commit), file_(file), counters_(counters), stop_(stop) {}

  // Fetches until `partial` has all bytes.
  Status fill(PartialFile& partial) {
    if (partial.size() > file_.size)
      if (Status status = partial.clear(); !status) return status;
    counters_.n_found += partial.size();
    count_to(partial.size());
    for (int tries = 1; partial.size() < file_.size; ++tries) {
      const uint64_t before = partial.size();
      problem_ = {};
      began_ = false;
      const HttpResponse response = client_.get(
          id_, commit_, file_.name, before, [&](const HttpResponse& head, std::string_view piece) {
            problem_ = take(partial, head, piece);
            return problem_.ok();
          });
      if (!problem_) return problem_;
      if (stop_) return make_error(ErrorCode::kUnavailable, "stopped");
      if (partial.size() == file_.size) break;
      if (response.status == kRangeNotSatisfiable) {
        if (Status status = partial.clear(); !status) return status;
        return in_file(what(), bad_file("ends at {} bytes, expected {}", before, file_.size));
      }
      if (partial.size() > before) tries = 0;
      HttpResponse cut = response;
      if (cut.failure.empty() && (cut.status == 200 || cut.status == 206)) {
        cut.failure = fmt::format("it sent {} of {} bytes", partial.size(), file_.size);
        cut.is_transient = true;
      }
      if (Status status = client_.wait_before_retry(cut, tries, id_, what()); !status)
        return status;
    }
    return {};
  }

  std::string what() const { return id_.repository() + "/" + file_.name; }
  void count_to(uint64_t bytes) {
    counters_.n_bytes += bytes - counted_;
    counted_ = bytes;
  }

 private:
  Status take(PartialFile& partial, const HttpResponse& head, std::string_view piece) {
    if (!std::exchange(began_, true)) {
      const std::string range = head.header("content-range");
      const bool goes_on =
          head.status == 206 && range.starts_with(fmt::format("bytes {}-", partial.size()));
      // The server sends the whole file, or another part.
      if (head.status == 206 && !goes_on)
        return in_file(what(), bad_file("came with the range '{}', expected bytes from {} on",
                                        one_line(range), partial.size()));
      if (!goes_on && partial.size() > 0)
        if (Status status = partial.clear(); !status) return status;
    }
    if (piece.size() > file_.size - partial.size())
      return in_file(what(),
                     bad_file("is longer than the hub says, expected {} bytes", file_.size));
    Status status = partial.append(piece);
    count_to(partial.size());
    return status;
  }

  HubClient& client_;
  const ModelId& id_;
  const std::string& commit_;
  const RemoteFile& file_;
  Counters& counters_;
  const std::atomic<bool>& stop_;
  uint64_t counted_ = 0;
  Status problem_;
  bool began_ = false;
};

Status fetch_blob(Download& download, const CachedRepository& repository, const RemoteFile& file,
                  const std::atomic<bool>& stop) {
  const fs::path path = repository.incomplete(file.etag);
  for (int n_wrong = 1;; ++n_wrong) {
    {
      Result<PartialFile> partial = PartialFile::open(path);
      if (!partial) return partial.error();
      if (Status status = download.fill(*partial); !status) return status;
      if (Status status = partial->sync(); !status) return status;
    }
    const Result<std::string> found =
        digest_of_file(path, file.is_lfs ? Digest::kSha256 : Digest::kGitSha1, stop);
    if (!found) return found.error();
    if (*found == file.etag) break;
    std::error_code ignored;
    fs::remove(path, ignored);
    download.count_to(0);
    if (n_wrong == kMostWrongSums)
      return in_file(download.what(),
                     bad_file("has the {} {}, expected {}", file.is_lfs ? "sha256" : "git sha1",
                              *found, file.etag));
  }
  std::error_code failure;
  fs::rename(path, repository.blob(file.etag), failure);
  if (failure)
    return io_error("cannot write {}: {}", repository.blob(file.etag).string(), failure.message());
  return {};
}

}  // namespace

Status download(HubClient& client, const CachedRepository& repository, const ModelId& id,
                const std::string& commit, const RemoteFile& file, Counters& counters,
                const std::atomic<bool>& stop) {
  bool is_waiting = false;
  const auto keep_waiting = [&] {
    if (!std::exchange(is_waiting, true)) ++counters.n_waiting;
    return !stop;
  };
  const Result<FileLock> lock = FileLock::acquire(repository.lock(file.etag), keep_waiting);
  if (is_waiting) --counters.n_waiting;
  if (!lock) return lock.error();
  Download download(client, id, commit, file, counters, stop);
  std::error_code failure;
  if (fs::is_regular_file(repository.blob(file.etag), failure))
    counters.n_found += file.size;
  else if (Status status = fetch_blob(download, repository, file, stop); !status)
    return status;
  download.count_to(file.size);
  if (Status status = repository.link(commit, file.name, file.etag); !status) return status;
  ++counters.n_files;
  return {};
}

}  // namespace pando::hub
