#include "serve/asking.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "serve/http.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using Timer = asio::steady_timer;

// Until the engine is asked again, where nothing of these is under way that could make room.
constexpr std::chrono::milliseconds kAgain{50};

}  // namespace

Asking::Asking(Engine& engine, Gate& gate, const std::vector<Request>& requests,
               asio::any_io_executor executor)
    : engine_(engine), requests_(requests), wake_(executor), open_(requests.size()) {
  for (size_t i = 0; i < requests.size(); ++i) waiting_.insert(waiting_.end(), i);
  // The timer lives until close(), and what is posted runs before the executor's next turn of this
  // connection; a wake that comes after the end finds the mailbox closed.
  mailbox_ = std::make_shared<Mailbox>([this, &gate, executor] {
    gate.pass([&] {
      asio::post(executor, [mailbox = std::weak_ptr(mailbox_), this] {
        if (const auto open = mailbox.lock(); open && open->is_open()) wake_.cancel();
      });
    });
  });
}

Asking::~Asking() {
  mailbox_->close();
  for (const Open& open : open_) {
    if (open.n_open == 0) continue;
    try {
      engine_.cancel(open.id);
    } catch (const std::bad_alloc&) {  // it goes on, and nobody hears of it
    }
  }
}

void Asking::add_turn() {
  if (n_turns_ < SIZE_MAX) ++n_turns_;
}

bool Asking::has_turn(size_t request) const {
  return n_under_way_ == 0 ||
         n_open_ + requests_[request].sampling.n <= engine_.options().max_open / 2;
}

Status Asking::ask() {
  while (n_turns_ > 0 && !waiting_.empty() && has_turn(*waiting_.begin())) {
    const size_t index = *waiting_.begin();
    Result<RequestId> id = engine_.submit(
        requests_[index],
        [mailbox = mailbox_, index](Event event) { mailbox->put(index, std::move(event)); });
    if (!id) {
      const bool later =
          id.error().code == ErrorCode::kUnavailable && (n_under_way_ > 0 || is_let_in_);
      if (!later) {
        failed_ = index;
        return id.error();
      }
      n_turns_ = 0;
      break;
    }
    waiting_.erase(index);
    open_[index] = {.id = *id, .n_open = requests_[index].sampling.n};
    n_open_ += open_[index].n_open;
    ++n_under_way_;
    if (n_turns_ < SIZE_MAX) --n_turns_;
  }
  return {};
}

// Takes out what was refused. The error of what ends them all.
Status Asking::sort(std::vector<Heard>& heard) {
  Status status;
  std::erase_if(heard, [&](const Heard& one) {
    Open& open = open_[one.request];
    if (!one.event.error) {
      is_let_in_ = true;
      if (!std::exchange(open.is_let_in, true)) add_turn();
      if (!one.event.completion) return false;
      --n_open_;
      if (--open.n_open == 0) {
        --n_under_way_;
        ++n_answered_;
        add_turn();
      }
      return false;
    }
    n_open_ -= open.n_open;
    open.n_open = 0;
    --n_under_way_;
    const bool refused = one.event.error->code == ErrorCode::kUnavailable;
    if (refused) waiting_.insert(one.request);
    if (refused) n_turns_ = 0;  // the next that ends or is let in gives one
    if (!refused || (n_under_way_ == 0 && !is_let_in_)) {
      failed_ = one.request;
      status = *one.event.error;
    }
    return true;
  });
  return status;
}

asio::awaitable<Result<std::vector<Heard>>> Asking::next() {
  for (;;) {
    Status status = ask();
    std::vector<Heard> heard = mailbox_->take();
    if (status) status = sort(heard);
    if (status && mailbox_->is_lossy()) status = no_memory();
    if (!status) co_return status.error();
    if (!heard.empty()) co_return heard;
    const bool alone = n_under_way_ == 0;
    wake_.expires_at(alone ? Timer::clock_type::now() + kAgain : Timer::time_point::max());
    co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)  // the client left: asks no more
      throw boost::system::system_error(asio::error::operation_aborted);
    if (alone && n_turns_ == 0) n_turns_ = 1;
  }
}

}  // namespace pando::serve
