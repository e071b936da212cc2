// Finds out that a client has left while its answer is being computed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace pando::serve {

// Returns once the other side has closed its sending half or reset the connection; reads nothing. A
// client that closes only its sending half counts as gone.
boost::asio::awaitable<void> client_left(boost::asio::ip::tcp::socket& socket);

}  // namespace pando::serve
