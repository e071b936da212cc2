#include "cli/files.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace pando::cli {

namespace fs = std::filesystem;

Status OutputFile::open(const std::string& path) {
  path_ = path;
  if (path_ == "-") return {};
  file_.open(path_, std::ios::app);
  if (file_.is_open()) return {};
  return Error{ErrorCode::kIo, fmt::format("cannot write '{}': {}", path, std::strerror(errno))};
}

bool OutputFile::is_regular() const {
  std::error_code error;
  return path_ != "-" && fs::is_regular_file(path_, error);
}

std::ostream& OutputFile::begin() {
  if (path_ == "-") return std::cout;
  std::error_code error;
  if (fs::is_regular_file(path_, error)) fs::resize_file(path_, 0, error);
  return file_;
}

bool reader_is_gone() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

void end_as_by_sigpipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // where it is blocked
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;  // of what is not there
  return a != "-" && b != "-" && fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
}

}  // namespace pando::cli
