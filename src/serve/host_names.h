// By which names a server lets itself be called.
#pragma once

#include <string_view>

namespace pando::serve {

// Whether the `Host` of a request is an address or localhost, which no name server can lead
// elsewhere. Any other name may be that of a web page which has it lead to this machine, so that
// browsers let the page ask here (DNS rebinding).
bool is_local_name(std::string_view host);
// A `Host` without its port.
std::string_view without_port(std::string_view host);

}  // namespace pando::serve
