// A request that replicas answer.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "serve/http.h"
#include "serve/routes.h"

namespace pando::serve {

struct RouteDoor;

// Sends it to the replica that is chosen, and passes on the answer. Before anything of it has
// reached the client it may go to another; a stream goes on at another with the same fingerprint.
// Throws where the client is gone.
boost::asio::awaitable<void> route_request(RouteDoor& door, const Route& route,
                                           HttpRequest& request, Replier& replier);

}  // namespace pando::serve
