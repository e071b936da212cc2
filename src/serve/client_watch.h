// Finds out that a client has left while its answer is being computed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace pando::serve {

// Returns once the other side has closed its sending half or reset the connection; reads nothing. A
// client that closes only its sending half counts as gone. Not once `is_ending`: a client that has
// the whole answer may leave before its writer hears that it was written. Returns too once
// `is_over`, where its wait for the socket is cancelled.
boost::asio::awaitable<void> client_left(boost::asio::ip::tcp::socket& socket,
                                         const bool& is_ending, const bool& is_over);

}  // namespace pando::serve
