#include "serve/result_log.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "serve/new_file.h"

namespace pando::serve {
namespace {

constexpr size_t kLogPiece = size_t{1} << 20;
constexpr size_t kHashDigits = 16;

std::string hash_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

Error log_failed() {
  return io_error("the results of a batch cannot be kept: {}", std::strerror(errno));
}

}  // namespace

Result<std::unique_ptr<ResultLog>> ResultLog::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return log_failed();
  std::unique_ptr<ResultLog> log(new ResultLog(file));
  if (Status status = log->load(); !status) return status.error();
  return log;
}

Status ResultLog::load() {
  std::string piece(kLogPiece, '\0'), rest;
  for (uint64_t n_read = 0;;) {
    const ssize_t n = pread(file_.file, piece.data(), piece.size(), static_cast<off_t>(n_read));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return log_failed();
    if (n == 0) break;
    n_read += static_cast<uint64_t>(n);
    rest.append(piece, 0, static_cast<size_t>(n));
    size_t begin = 0;
    for (size_t end = 0; (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      if (!take(std::string_view(rest).substr(begin, end - begin), n_bytes_))
        return ftruncate(file_.file, static_cast<off_t>(n_bytes_)) == 0 ? Status()
                                                                        : Status(log_failed());
      n_bytes_ += end + 1 - begin;
    }
    rest.erase(0, begin);
  }
  return rest.empty() || ftruncate(file_.file, static_cast<off_t>(n_bytes_)) == 0
             ? Status()
             : Status(log_failed());
}

bool ResultLog::take(std::string_view line, uint64_t begin) {
  constexpr size_t kBehindHash = kHashDigits + 1;  // and a space
  constexpr size_t kIndexAt = kBehindHash + 2;     // behind the LineEnd and a space
  if (line.size() < kIndexAt || line.substr(0, kHashDigits) != hash_of(line.substr(kBehindHash)))
    return false;
  size_t index = 0;
  const char* end = line.data() + line.size();
  const char* json = std::from_chars(line.data() + kIndexAt, end, index).ptr + 1;
  if (json >= end) return false;
  const auto at = static_cast<uint64_t>(json - line.data());
  records_[index] = {begin + at, line.size() - at, static_cast<LineEnd>(line[kBehindHash])};
  return true;
}

Result<std::string> ResultLog::text(const Record& record) const {
  return read_at(file_.file, record.begin, record.n_bytes);
}

void ResultLog::add(size_t index, LineEnd end, const std::string& json) {
  std::string line = fmt::format("{} {} ", static_cast<char>(end), index);
  const uint64_t before = n_bytes_ + pending_.size() + kHashDigits + 1 + line.size();
  line += json;
  const Record record{before, json.size(), end};
  pending_records_.reserve(pending_records_.size() + 1);
  pending_ += fmt::format("{} {}\n", hash_of(line), line);
  pending_records_.emplace_back(index, record);
}

Status ResultLog::commit() {
  if (pending_.empty()) return {};
  if (Status status = write_at(file_.file, n_bytes_, pending_); !status) return status;
  is_synced_ = false;
  // First: where memory runs out here, the next commit writes the same bytes at the same place.
  for (const auto& [index, record] : pending_records_) records_[index] = record;
  n_bytes_ += pending_.size();
  pending_.clear();
  pending_records_.clear();
  return {};
}

Status ResultLog::sync() {
  if (is_synced_) return {};
  if (fdatasync(file_.file) != 0) return log_failed();
  is_synced_ = true;
  return {};
}

}  // namespace pando::serve
