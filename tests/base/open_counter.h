// Counts how often files are opened, by this process or any other.
#pragma once

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>

namespace pando::testing {

class OpenCounter {
 public:
  // Counts opens of the files in a folder and in the folders in it.
  explicit OpenCounter(const std::filesystem::path& folder) {
    watch(folder, "");
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_directory()) watch(entry.path(), entry.path().filename().string() + "/");
  }
  ~OpenCounter() { ::close(fd_); }
  OpenCounter(const OpenCounter&) = delete;
  OpenCounter& operator=(const OpenCounter&) = delete;

  bool ok() const { return fd_ >= 0 && !prefixes_.contains(-1); }

  // By name, after all are closed again: the system reports two opens in a row as one, but then
  // not the two closes.
  std::map<std::string, int> counts() {
    std::map<std::string, int> opened, closed;
    alignas(inotify_event) char events[1 << 14];
    for (ssize_t n; (n = ::read(fd_, events, sizeof events)) > 0;)
      for (ssize_t at = 0; at < n;) {
        inotify_event event;
        std::memcpy(&event, events + at, sizeof event);
        const char* name = events + at + sizeof event;
        at += static_cast<ssize_t>(sizeof event + event.len);
        if (event.len == 0 || (event.mask & IN_ISDIR) != 0) continue;
        ++((event.mask & IN_OPEN) != 0 ? opened : closed)[prefixes_[event.wd] + name];
      }
    for (const auto& [name, n] : closed) opened[name] = std::max(opened[name], n);
    return opened;
  }

 private:
  void watch(const std::filesystem::path& folder, const std::string& prefix) {
    prefixes_[::inotify_add_watch(fd_, folder.c_str(), IN_OPEN | IN_CLOSE)] = prefix;
  }

  int fd_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  std::map<int, std::string> prefixes_;  // of the names in a folder, by the watch
};

}  // namespace pando::testing
