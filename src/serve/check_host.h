// The header "Host" of a request (RFC 9112, section 3.2).
#pragma once

#include <boost/beast/http.hpp>
#include <optional>

#include "serve/door.h"
#include "serve/http.h"

namespace pando::serve {

// Nothing, or the error for a request without one host, or with one that the server does not have.
std::optional<HttpResponse> check_host(
    const Door& door, const boost::beast::http::request<boost::beast::http::string_body>& request);

}  // namespace pando::serve
