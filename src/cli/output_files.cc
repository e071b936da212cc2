#include "cli/output_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "base/errors.h"
#include "base/write_file.h"

namespace pando::cli {

namespace fs = std::filesystem;

namespace {

Status cannot_write(const std::string& path) {
  return io_error("cannot write '{}'{}", path, reason_of_code(errno));
}

}  // namespace

Status check_writable(const std::string& path) {
  if (path == "-") return {};
  std::error_code error;
  if (fs::is_regular_file(path, error) || fs::is_directory(path, error))
    return std::ofstream(path, std::ios::app) ? Status() : cannot_write(path);
  if (fs::exists(path, error))  // a pipe is opened once, for its reader takes the end of that
    return ::access(path.c_str(), W_OK) == 0 ? Status() : cannot_write(path);
  const fs::path name = fs::path(path).filename();
  const fs::path folder = fs::path(path).parent_path() / ".";  // a file is no folder
  errno = name.empty() || name == "." || name == ".." ? EISDIR : 0;
  if (errno != 0 || ::access(folder.c_str(), W_OK | X_OK) != 0) return cannot_write(path);
  return {};
}

Status OutputFile::open(const std::string& path) {
  path_ = path;
  if (Status status = check_writable(path); !status) return status;
  if (path_ == "-" || is_regular()) return {};
  file_.open(path_, std::ios::app);
  return file_.is_open() ? Status() : cannot_write(path);
}

bool OutputFile::is_regular() const {
  std::error_code error;
  return path_ != "-" && (!fs::exists(path_, error) || fs::is_regular_file(path_, error));
}

std::ostream& OutputFile::begin() {
  if (path_ == "-") return std::cout;
  if (!file_.is_open()) file_.open(path_, std::ios::trunc);
  return file_;
}

NewFile::~NewFile() {
  std::error_code error;
  if (!unfinished_.empty()) fs::remove(unfinished_, error);
}

Status NewFile::open(const std::string& path) {
  std::error_code error;
  path_ = path == "-" ? "/dev/stdout" : path;
  if (path != "-" && fs::is_regular_file(path, error)) path_ = fs::canonical(path, error).string();
  if (path != "-" && (!fs::exists(path_, error) || fs::is_regular_file(path_, error)))
    unfinished_ = path_ + ".new";
  file_.open(unfinished_.empty() ? path_ : unfinished_);
  if (file_.is_open()) return {};
  unfinished_.clear();
  return cannot_write(path);
}

void NewFile::write(std::string_view text) {
  if (!written_) return;
  errno = 0;
  if (!file_.write(text.data(), static_cast<std::streamsize>(text.size())))
    written_ = cannot_write(path_);
}

Status NewFile::keep() {
  errno = 0;
  file_.close();
  if (written_ && !file_) written_ = cannot_write(path_);
  if (!written_) return written_;
  if (!unfinished_.empty() && std::rename(unfinished_.c_str(), path_.c_str()) != 0)
    return cannot_write(path_);
  unfinished_.clear();
  return {};
}

bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void end_as_by_sigpipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // if it is blocked
}

void fill_standard_descriptors() {
  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(file, F_GETFD) < 0)
      static_cast<void>(::open("/", O_PATH));  // takes the lowest free descriptor
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // of what is not there
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  if (fs::is_regular_file(a, error)) return fs::equivalent(a, b, error);
  if (fs::exists(a, error)) return false;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

}  // namespace pando::cli
