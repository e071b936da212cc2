#include "serve/client_watch.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace pando::serve {
namespace {

namespace asio = boost::asio;

// The kernel knows, whatever is still unread.
bool has_left(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

}  // namespace

asio::awaitable<void> client_left(asio::ip::tcp::socket& socket, const bool& is_ending,
                                  const bool& is_over) {
  constexpr std::chrono::milliseconds kAgain{100};  // with a next request waiting unread
  constexpr auto token = asio::as_tuple(asio::use_awaitable);
  asio::steady_timer timer(socket.get_executor());
  for (;;) {
    co_await socket.async_wait(asio::ip::tcp::socket::wait_read, token);
    if (is_over || (!is_ending && has_left(socket.native_handle()))) co_return;
    timer.expires_after(kAgain);
    co_await timer.async_wait(token);
  }
}

}  // namespace pando::serve
