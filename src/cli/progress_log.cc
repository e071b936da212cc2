#include "cli/progress_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/write_file.h"
#include "cli/report.h"

namespace pando::cli {
namespace {

constexpr std::string_view kBegin = "{\"time\":";  // of each line

Status cannot_log(const std::string& path) {
  return io_error("cannot write '{}'{}", path, reason_of_code(errno));
}

nlohmann::ordered_json line_of(std::string_view state, const BatchProgress& now) {
  const EngineStats& e = now.stats;
  const uint64_t n_computed = e.prefill_rows + e.decode_rows;
  nlohmann::ordered_json line;
  line["time"] = utc_now();
  line["state"] = state;
  line["answers"] = now.answers_done;
  line["open"] = now.answers_open;
  line["share_done"] = nullptr;
  if (now.share_done > 0) line["share_done"] = now.share_done;
  line["prompt_tokens"] = e.arrived_tokens;
  line["computed_tokens"] = n_computed;
  line["tokens_per_second"] = now.seconds > 0 ? static_cast<double>(n_computed) / now.seconds : 0;
  line["seconds"] = now.seconds;
  line["seconds_left"] = nullptr;
  if (now.seconds_left) line["seconds_left"] = *now.seconds_left;
  return line;
}

}  // namespace

ProgressLog::~ProgressLog() {
  if (file_ >= 0) ::close(file_);
}

Status ProgressLog::open(const std::string& path) {
  path_ = path;
  errno = 0;
  file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file_ < 0) return cannot_log(path);
  struct stat found {};
  if (::fstat(file_, &found) != 0) return cannot_log(path);
  return S_ISREG(found.st_mode) && found.st_size > 0 ? cut_off_rest() : Status();
}

// Leaves whole lines in a file that has some text.
Status ProgressLog::cut_off_rest() {
  std::string beginning(kBegin.size(), '\0');
  const ssize_t n = ::pread(file_, beginning.data(), beginning.size(), 0);
  if (n < 0) return cannot_log(path_);
  beginning.resize(static_cast<size_t>(n));
  if (!kBegin.starts_with(beginning))
    return invalid_argument(
        "--progress-log: '{}' holds something else, expected an earlier log, an empty file or a "
        "new name",
        path_);
  off_t end = ::lseek(file_, 0, SEEK_END);
  for (char last = '\0'; end > 0; --end) {
    if (::pread(file_, &last, 1, end - 1) != 1) return cannot_log(path_);
    if (last == '\n') break;
  }
  return ::ftruncate(file_, end) == 0 ? Status() : cannot_log(path_);
}

void ProgressLog::update(const BatchProgress& now) {
  if (file_ < 0 || (has_written_ && Clock::now() - written_ < every_)) return;
  write(now.stopping ? "stopping" : "running", now);
}

void ProgressLog::end(std::string_view state, const BatchProgress& last) {
  if (file_ >= 0) write(state, last);
}

void ProgressLog::write(std::string_view state, const BatchProgress& now) {
  has_written_ = true;
  written_ = Clock::now();
  const std::string line = line_of(state, now).dump() + "\n";
  errno = 0;
  const ssize_t n = ::write(file_, line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return;
  if (status_) status_ = cannot_log(path_);
  if (n > 0) (void)!::ftruncate(file_, ::lseek(file_, 0, SEEK_END) - n);  // it holds whole lines
}

}  // namespace pando::cli
