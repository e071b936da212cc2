#include "cli/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "cli/print_stderr.h"

namespace pando::cli {
namespace {

// 0, or an error of the system.
int send_datagram(std::string_view name, std::string_view bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.size() > sizeof address.sun_path) return ENAMETOOLONG;
  std::ranges::copy(name, address.sun_path);
  if (name.starts_with('@')) address.sun_path[0] = '\0';
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const ssize_t sent = sendto(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace

void notify(std::string_view state) {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || *name == '\0') return;
  if (const int error = send_datagram(name, state); error != 0)
    print_stderr("pando: NOTIFY_SOCKET is '{}', but sending {} to it failed: {}\n", name, state,
                 std::strerror(error));
}

}  // namespace pando::cli
