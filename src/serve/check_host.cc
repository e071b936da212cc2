#include "serve/check_host.h"

#include <boost/beast/core/string.hpp>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "serve/host_names.h"

namespace pando::serve {

namespace http = boost::beast::http;

std::optional<HttpResponse> check_host(const Door& door,
                                       const http::request<http::string_body>& request) {
  const size_t n_hosts = request.count(http::field::host);
  if (n_hosts == 0 && request.version() < 11) return std::nullopt;
  if (n_hosts != 1)
    return wrong_request(400, "bad_request",
                         fmt::format("the request has {} 'Host' headers, expected one", n_hosts));
  const auto field = request[http::field::host];
  const std::string_view host(field.data(), field.size());
  if (!door.local_names_only || is_local_name(host)) return std::nullopt;
  const std::string_view name = without_port(host);
  for (const std::string& allowed : door.options.allowed_hosts)
    if (boost::beast::iequals(allowed, name)) return std::nullopt;
  return wrong_request(
      403, "host_not_allowed",
      fmt::format("the host is '{}', expected an address or localhost, because the server has no "
                  "API keys (hint: the server's option --allow-host NAME)",
                  one_line(std::string(name))));
}

}  // namespace pando::serve
