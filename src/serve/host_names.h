// By which names a server lets itself be called.
#pragma once

#include <string_view>

namespace pando::serve {

// True if `host` is an IP address or localhost, which no name server can redirect. A web page could
// let any other name resolve to this machine, and browsers would then let the page send requests
// here (DNS rebinding).
bool is_local_name(std::string_view host);
// A `Host` without its port.
std::string_view without_port(std::string_view host);

}  // namespace pando::serve
