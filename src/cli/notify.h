// Tells a supervisor, such as systemd, how a server stands (sd_notify(3)).
#pragma once

#include <string_view>

namespace pando::cli {

// Sends `state`, as in "READY=1", to the socket that NOTIFY_SOCKET names: a path, or behind '@' a
// name of Linux's abstract sockets. Nothing where the variable is unset. Does not block. What
// cannot be sent is said on standard error.
void notify(std::string_view state);

}  // namespace pando::cli
