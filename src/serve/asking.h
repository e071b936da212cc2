// Requests that a connection has asked the engine together.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "pando/engine.h"
#include "serve/gate.h"
#include "serve/mailbox.h"

namespace pando::serve {

// Used on one executor, the connection's. What is not answered when it goes is cancelled.
//
// The engine lets each request in or refuses it (kUnavailable). Once it has let one in, those that
// it refuses are asked again when an answer of these has made room: then one for each that ends or
// is let in, so that those that find no room are few. They take at most half of the answers that it
// has open at a time, or one request: others get in beside a long list.
class Asking {
 public:
  // `gate`: open while the executor is there to be told of answers.
  Asking(Engine& engine, Gate& gate, const std::vector<Request>& requests,
         boost::asio::any_io_executor executor);
  ~Asking();
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  bool over() const { return n_answered_ == requests_.size(); }
  // Asks what there is room for and waits for what is heard next, in order; from the first time on
  // something was let in. Errors: kUnavailable where all were refused or memory ran out, others as
  // Engine::submit and what ended a request.
  boost::asio::awaitable<Result<std::vector<Heard>>> next();
  size_t failed() const { return failed_; }  // the request whose error that was

 private:
  struct Open {
    RequestId id = 0;
    int n_open = 0;  // answers to come; 0: not asked, or over
    bool is_let_in = false;
  };

  Status ask();
  Status sort(std::vector<Heard>& heard);
  bool has_turn(size_t request) const;
  void add_turn();

  Engine& engine_;
  const std::vector<Request>& requests_;
  boost::asio::steady_timer wake_;
  std::shared_ptr<Mailbox> mailbox_;
  std::vector<Open> open_;    // [requests]
  std::set<size_t> waiting_;  // requests to be asked
  size_t n_under_way_ = 0, n_answered_ = 0, failed_ = 0;
  int n_open_ = 0;             // answers to come of those under way
  size_t n_turns_ = SIZE_MAX;  // requests that may be asked; SIZE_MAX: any, until one is refused
  bool is_let_in_ = false;     // one of them
};

}  // namespace pando::serve
