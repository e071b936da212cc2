#include "serve/request_watch.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>
#include <utility>

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using SystemError = boost::system::error_code;

// The kernel knows, whatever is still unread.
bool has_left(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

}  // namespace

// Held by each wait for the socket or a timer, which may end after the watch is gone.
struct RequestWatch::State : std::enable_shared_from_this<State> {
  State(tcp::socket& socket, const bool& is_ending, std::function<void(End)> on_end,
        std::chrono::seconds last_write)
      : socket(socket),
        is_ending(is_ending),
        on_end(std::move(on_end)),
        last_write(last_write),
        pause(socket.get_executor()),
        time(socket.get_executor()) {}

  void wait_for_client() {
    socket.async_wait(tcp::socket::wait_read,
                      [self = shared_from_this()](const SystemError&) { self->look(); });
  }

  void look() {
    constexpr std::chrono::milliseconds kAgain{100};  // with a next request waiting unread
    if (is_over) return;
    if (!is_ending && has_left(socket.native_handle())) return end(End::kClientGone);
    pause.expires_after(kAgain);
    pause.async_wait([self = shared_from_this()](const SystemError&) {
      if (!self->is_over) self->wait_for_client();
    });
  }

  void wait_for_time() {
    time.async_wait([self = shared_from_this()](const SystemError&) { self->end(End::kTimeOver); });
  }

  void end(End end) {
    if (std::exchange(is_over, true)) return;
    on_end(end);
    if (end == End::kClientGone) return cancel_writing();
    time.expires_after(last_write);
    time.async_wait([self = shared_from_this()](const SystemError&) {
      if (!self->is_stopped) self->cancel_writing();
    });
  }

  void cancel_writing() {
    SystemError ignored;
    socket.cancel(ignored);
  }

  void stop() {
    is_over = is_stopped = true;
    pause.cancel();
    time.cancel();
    cancel_writing();
  }

  tcp::socket& socket;
  const bool& is_ending;
  const std::function<void(End)> on_end;
  const std::chrono::seconds last_write;
  asio::steady_timer pause, time;
  bool is_over = false, is_stopped = false;
};

RequestWatch::RequestWatch(tcp::socket& socket, const bool& is_ending, std::chrono::seconds time,
                           std::function<void(End)> on_end, std::chrono::seconds last_write)
    : state_(std::make_shared<State>(socket, is_ending, std::move(on_end), last_write)) {
  state_->time.expires_after(time);
  try {
    state_->wait_for_time();
    state_->wait_for_client();
  } catch (...) {
    state_->stop();
    throw;
  }
}

RequestWatch::~RequestWatch() { state_->stop(); }

void RequestWatch::end_time() {
  if (!state_->is_over) state_->time.expires_at(std::chrono::steady_clock::time_point::min());
}

}  // namespace pando::serve
