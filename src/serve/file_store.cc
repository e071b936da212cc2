#include "serve/file_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/errors.h"
#include "serve/sqlite.h"

namespace pando::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::hours kSweptAfter{1};  // without a write
constexpr std::string_view kPartEnding = ".part", kLogEnding = ".log";

}  // namespace

Result<std::unique_ptr<FileStore>> FileStore::open(Options options) {
  if (!options.now) options.now = [] { return int64_t{std::time(nullptr)}; };
  std::unique_ptr<FileStore> store(new FileStore(std::move(options)));
  const std::string& directory = store->options_.directory;
  auto database = FileDatabase::open(directory, store->options_.owners);
  if (!database) return database.error();
  store->database_ = std::move(*database);
  for (const char* folder : {"/files", "/batches"})
    if (Status status = make_private_directory(directory + folder); !status) return status.error();
  return store;
}

FileStore::~FileStore() {
  if (lock_ >= 0) ::close(lock_);
}

std::string FileStore::path_of(std::string_view file) const {
  return fmt::format("{}/files/{}", options_.directory, file);
}

std::string FileStore::log_of(std::string_view batch) const {
  return fmt::format("{}/batches/{}{}", options_.directory, batch, kLogEnding);
}

Status FileStore::remove(uint64_t key, const std::string& id) {
  if (Status status = database_->remove_file(key, id, now()); !status) return status;
  unlink(path_of(id).c_str());  // a file that stays is swept later
  return {};
}

Status FileStore::sweep() {
  if (Status status = database_->remove_expired(now()); !status) return status;
  const auto batches = database_->open_batches();
  if (!batches) return batches.error();
  const auto has_row = [&](const std::string& id) { return database_->has_file(id); };
  if (Status status = sweep_folder("files", kPartEnding, has_row); !status) return status;
  return sweep_folder("batches", kLogEnding, [&](const std::string& id) -> Result<bool> {
    return id == "lock" || std::ranges::find(*batches, id, &StoredBatch::id) != batches->end();
  });
}

Status FileStore::sweep_folder(
    const char* folder, std::string_view ending,
    const std::function<Result<bool>(const std::string& id)>& is_used) const {
  std::error_code failure;
  const auto now = fs::file_time_type::clock::now();
  for (fs::directory_iterator entry(fs::path(options_.directory) / folder, failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::error_code ignored;  // others may remove it at the same time
    const fs::file_time_type written = entry->last_write_time(ignored);
    if (ignored || now - written < kSweptAfter) continue;
    std::string id = entry->path().filename().string();
    const bool is_part = id.ends_with(kPartEnding);
    if (id.ends_with(ending)) id.resize(id.size() - ending.size());
    const Result<bool> used = is_part ? false : is_used(id);
    if (!used) return used.error();
    if (!*used) fs::remove(entry->path(), ignored);
  }
  return {};
}

bool FileStore::lock_batches() {
  if (lock_ >= 0) return true;
  const std::string path = options_.directory + "/batches/lock";
  const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (opened < 0) return false;
  if (flock(opened, LOCK_EX | LOCK_NB) != 0) {
    ::close(opened);
    return false;
  }
  lock_ = opened;
  return true;
}

}  // namespace pando::serve
