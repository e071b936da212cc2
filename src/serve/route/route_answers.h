// Paths that a router answers itself, whatever its replicas are asked for it.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "serve/http.h"
#include "serve/routes.h"

namespace pando::serve {

struct RouteDoor;

using OwnAnswer = boost::asio::awaitable<void>(RouteDoor&, HttpRequest&, Replier&);
// Null for a route that replicas answer.
OwnAnswer* find_own_answer(const Route& route);

// Files and batches are on one server each.
HttpResponse no_files_here(const RouteDoor& door, const HttpRequest& request);

}  // namespace pando::serve
