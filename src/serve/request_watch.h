// Finds out that nobody waits any more for an answer that is being computed.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>

namespace pando::serve {

// Watches while one request is answered. Used on the socket's executor, which runs one thing at a
// time.
//
// The client has left once it has closed its sending half or reset the connection; reads nothing. A
// client that closes only its sending half counts as gone. Not once `is_ending`: a client that has
// the whole answer may leave before its writer hears that it was written.
//
// When the time is over, a write that has begun gets `last_write` more: an error can follow it.
//
// A watch without memory to look again looks no more; the time ends the request all the same.
class RequestWatch {
 public:
  enum class End { kClientGone, kTimeOver };

  // Calls `on_end` at most once, and never after this is gone. `socket` and `is_ending` outlive it.
  RequestWatch(boost::asio::ip::tcp::socket& socket, const bool& is_ending,
               std::chrono::seconds time, std::function<void(End)> on_end,
               std::chrono::seconds last_write = std::chrono::seconds(1));
  ~RequestWatch();
  RequestWatch(const RequestWatch&) = delete;
  RequestWatch& operator=(const RequestWatch&) = delete;

  void end_time();  // now

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace pando::serve
