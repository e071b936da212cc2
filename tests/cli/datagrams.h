// A socket that a supervisor would listen to.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace pando::testing {

class Datagrams {
 public:
  // A path, or behind '@' a name of an abstract socket.
  explicit Datagrams(std::string name) : name_(std::move(name)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(name_.size(), sizeof address.sun_path) << name_;
    std::ranges::copy(name_, address.sun_path);
    if (name_[0] == '@') address.sun_path[0] = '\0';
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address),
                   static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size())),
              0)
        << name_;
  }
  ~Datagrams() {
    close(fd_);
    if (name_[0] != '@') unlink(name_.c_str());
  }
  Datagrams(const Datagrams&) = delete;
  Datagrams& operator=(const Datagrams&) = delete;

  // All that came and was not taken.
  std::vector<std::string> take() {
    std::vector<std::string> all;
    char bytes[256];
    for (ssize_t n; (n = recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0;)
      all.emplace_back(bytes, static_cast<size_t>(n));
    return all;
  }

 private:
  const std::string name_;
  const int fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
};

// A variable of the environment while this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace pando::testing
