// One client.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "serve/door.h"

namespace pando::serve {

// Answers its requests one after the other, until it leaves, is idle for too long or the server
// stops. `registration` is the socket's; `tls` may be null. Runs on the socket's executor, which
// runs one thing at a time.
boost::asio::awaitable<void> serve_connection(Door& door, boost::asio::ip::tcp::socket socket,
                                              ConnectionRegistry::Registration registration,
                                              boost::asio::ssl::context* tls);

}  // namespace pando::serve
