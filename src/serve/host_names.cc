#include "serve/host_names.h"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

namespace pando::serve {

std::string_view without_port(std::string_view host) {
  const size_t end_of_address = host.starts_with('[') ? host.find(']') : 0;
  return host.substr(0, host.find(':', end_of_address));
}

bool is_local_name(std::string_view host) {
  std::string_view name = without_port(host);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  boost::system::error_code error;
  boost::asio::ip::make_address(name, error);
  return !error || boost::beast::iequals(name, "localhost");
}

}  // namespace pando::serve
