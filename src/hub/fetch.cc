#include "hub/fetch.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/counted.h"
#include "base/errors.h"
#include "base/failures.h"
#include "hub/cache.h"
#include "hub/download.h"
#include "hub/file_lock.h"

namespace pando::hub {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kShowEvery{200};

class Fetch {
 public:
  Fetch(const HubAccess& access, const Sought& sought, const FetchCalls& calls)
      : access_(access), sought_(sought), calls_(calls), cached_(access.cache, sought.id) {}

  Result<fs::path> run() {
    Result<HubClient> client = HubClient::open(access_, stop_);
    if (!client) return client.error();
    const Result<Repository> repository = client->repository(sought_.id, sought_.revision);
    if (!repository) return repository.error();
    commit_ = repository->commit;
    const Result<ChosenFiles> files = choose_files(sought_.id, repository->names, sought_.need);
    if (!files) return files.error();
    const Result<FileLock> lock = FileLock::acquire(
        cached_.model_lock(), [] { return true; }, Sharing::kShared);
    // Nobody removes a model from a cache that cannot be written. It may have all files.
    if (!lock && lock.error().code != ErrorCode::kIo) return lock.error();
    if (lock) (void)cached_.keep_listing(commit_, repository->names);  // it only saves questions
    std::vector<std::string> weights = files->weights;
    if (Status status = bring(files->small); !status) return status.error();
    if (files->has_index) {
      Result<std::vector<std::string>> shards = shards_of(*repository);
      if (!shards) return shards.error();
      weights = std::move(*shards);
    }
    if (Status status = bring(weights); !status) return status.error();
    if (Status status = cached_.write_ref(sought_.revision, commit_); !status)
      return status.error();
    const fs::path snapshot = cached_.snapshot(commit_);
    return files->is_gguf ? snapshot / weights[0] : snapshot;
  }

 private:
  Result<std::vector<std::string>> shards_of(const Repository& repository) const {
    const fs::path path = cached_.snapshot(commit_) / kIndex;
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    Result<std::vector<std::string>> shards = shards_of_index(text, path.string());
    if (!shards) return shards;
    for (const std::string& shard : *shards)
      if (std::ranges::find(repository.names, shard) == repository.names.end())
        return in_file(path.string(),
                       bad_file("names the file '{}', expected one of the repository", shard));
    return shards;
  }

  // Fetches files that the snapshot lacks.
  Status bring(const std::vector<std::string>& names) {
    std::vector<std::string> missing;
    for (const std::string& name : names)
      if (!cached_.has(commit_, name)) missing.push_back(name);
    if (missing.empty()) return {};
    files_.assign(missing.size(), {});
    Status status = on_threads(missing.size(), [&](HubClient& client, size_t i) -> Status {
      Result<RemoteFile> file = client.file(sought_.id, commit_, missing[i]);
      if (!file) return file.error();
      files_[i] = std::move(*file);
      return {};
    });
    if (!status) return status;
    uint64_t bytes = 0;
    for (const RemoteFile& file : files_) bytes += file.size;
    if (status = check_room(); !status) return status;
    n_all_files_ += files_.size();
    n_all_bytes_ += bytes;
    calls_.note(fmt::format("fetching {} of {} ({}) from {}", counted(files_.size(), "files"),
                            sought_.id.repository(), bytes_text(bytes), access_.endpoint));
    return on_threads(files_.size(), [&](HubClient& client, size_t i) {
      return download(client, cached_, sought_.id, commit_, files_[i], counters_, stop_);
    });
  }

  // Begins no file unless the disk has room for all.
  Status check_room() const {
    uint64_t needed = 0;
    std::error_code failure, absent;
    for (const RemoteFile& file : files_) {
      if (fs::exists(cached_.blob(file.etag), failure)) continue;
      const uintmax_t begun = fs::file_size(cached_.incomplete(file.etag), absent);
      needed += file.size - (absent ? 0 : std::min<uint64_t>(begun, file.size));
    }
    fs::create_directories(access_.cache, failure);
    if (failure) return io_error("cannot write {}: {}", access_.cache.string(), failure.message());
    const fs::space_info space = fs::space(access_.cache, failure);
    if (!failure && space.available < needed)
      return in_file(access_.cache.string(),
                     io_error("has room for {}, but '{}' needs {} more",
                              bytes_text(space.available), sought_.id.text(), bytes_text(needed)));
    return {};
  }

  // Calls `work` for 0 to n - 1 on several threads, each with a connection. The first error ends
  // all of them.
  Status on_threads(size_t n, const std::function<Status(HubClient&, size_t)>& work) {
    const size_t n_threads = std::min<size_t>(n, static_cast<size_t>(access_.n_connections));
    Status first;
    std::mutex mutex;
    std::condition_variable ended;
    size_t next = 0, n_running = n_threads;
    const auto fail = [&](const Status& status) {
      const std::lock_guard hold(mutex);
      if (!status && first) first = status;
      if (!status) stop_ = true;
    };
    const auto run_some = [&] {
      Result<HubClient> client = HubClient::open(access_, stop_);
      if (!client) fail(client.error());
      while (client && !stop_) {
        std::unique_lock hold(mutex);
        if (next == n) break;
        const size_t i = next++;
        hold.unlock();
        try {
          fail(work(*client, i));
        } catch (const std::exception& error) {
          fail(io_error("{}", reason_of(error)));
        }
      }
      const std::lock_guard hold(mutex);
      --n_running;
      ended.notify_one();
    };
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < n_threads; ++i) threads.emplace_back(run_some);
    std::unique_lock hold(mutex);
    while (!ended.wait_for(hold, kShowEvery, [&] { return n_running == 0; })) {
      hold.unlock();
      show();
      hold.lock();
    }
    hold.unlock();
    if (n_all_files_ > 0) show();
    return first;
  }

  void show() {
    if (n_all_files_ == 0) return;  // sizes are not known yet
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    const uint64_t bytes = counters_.n_bytes;
    const double came = static_cast<double>(bytes) - static_cast<double>(counters_.n_found);
    calls_.progress({.n_files = counters_.n_files,
                     .n_all_files = n_all_files_,
                     .n_bytes = bytes,
                     .n_all_bytes = n_all_bytes_,
                     .seconds = seconds,
                     .bytes_per_second = seconds > 0 ? std::max(0.0, came) / seconds : 0,
                     .n_waiting = counters_.n_waiting});
  }

  const HubAccess& access_;
  const Sought& sought_;
  const FetchCalls& calls_;
  CachedRepository cached_;
  std::string commit_;
  std::vector<RemoteFile> files_;
  Counters counters_;
  uint64_t n_all_files_ = 0, n_all_bytes_ = 0;
  Clock::time_point begin_ = Clock::now();
  std::atomic<bool> stop_{false};
};

Error offline(const HubAccess& access, const Sought& sought) {
  return not_found(
      "'{}' is neither a path nor whole in the local hub cache ({}), and "
      "HF_HUB_OFFLINE is set",
      sought.id.text(), CachedRepository(access.cache, sought.id).folder().string());
}

// `missing`: of a CachedModel.
std::string lack_text(const std::optional<std::vector<std::string>>& missing) {
  if (!missing) return "of which no list of files is kept, so that some may be missing";
  return fmt::format("without {}", fmt::join(*missing, ", "));
}

}  // namespace

Result<fs::path> fetch(const HubAccess& access, const Sought& sought, const FetchCalls& calls) {
  if (access.is_offline)
    return make_error(ErrorCode::kUnavailable, "'{}' cannot be fetched: HF_HUB_OFFLINE is set",
                      sought.id.text());
  return Fetch(access, sought, calls).run();
}

Result<fs::path> find_or_fetch(const HubAccess& access, const Sought& sought,
                               const FetchCalls& calls) {
  const auto find = [&] {
    return find_cached(access.cache, sought.id, sought.revision, sought.need);
  };
  std::optional<CachedModel> cached = find();
  const bool is_usable =
      cached && (sought.need == Need::kTokenizer ? cached->has_tokenizer : cached->has_weights);
  if (is_usable && cached->missing && cached->missing->empty()) return cached->path;
  // Without the hub, a part of the model is better than nothing: opening it says what is missing.
  if (access.is_offline && !is_usable)
    return cached ? cached->path : Result<fs::path>(offline(access, sought));
  Sought same = sought;
  if (is_usable) same.revision = cached->commit;
  Result<fs::path> fetched = fetch(access, same, calls);
  if (fetched || !is_usable) return fetched;
  cached = find();  // the hub may have said which files there are
  if (!cached) return fetched;
  if (cached->missing && cached->missing->empty()) return cached->path;
  calls.warn(fmt::format("{}; using what the cache has of it, {}", fetched.error().message(),
                         lack_text(cached->missing)));
  return cached->path;
}

std::string bytes_text(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount >= 999.5 && unit + 1 < std::size(kUnits); ++unit) amount /= 1000;
  return fmt::format("{:.{}f} {}", amount, unit == 0 || amount >= 99.95 ? 0 : 1, kUnits[unit]);
}

}  // namespace pando::hub
