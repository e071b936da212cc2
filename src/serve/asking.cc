#include "serve/asking.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace pando::serve {

namespace asio = boost::asio;

Asking::Asking(Engine& engine, const std::vector<Request>& requests, asio::any_io_executor executor)
    : engine_(engine), requests_(requests), wake_(executor) {
  wake_.expires_at(asio::steady_timer::time_point::max());
  // The timer lives until close(), and what is posted runs before the executor's next turn of this
  // connection; a wake that comes after the end finds the mailbox closed.
  mailbox_ = std::make_shared<Mailbox>([this, executor] {
    asio::post(executor, [mailbox = std::weak_ptr(mailbox_), this] {
      if (const auto open = mailbox.lock(); open && open->is_open()) wake_.cancel();
    });
  });
}

Asking::~Asking() {
  mailbox_->close();
  for (const Open& open : open_)
    if (open.n_open > 0) engine_.cancel(open.id);
}

Status Asking::feed() {
  while (open_.size() < requests_.size()) {
    const size_t index = open_.size();
    Result<RequestId> id =
        engine_.submit(requests_[index], [mailbox = mailbox_, index](const Event& event) {
          mailbox->put({index, event});
        });
    if (!id) {
      const bool later = id.error().code == ErrorCode::kUnavailable && n_answered_ < open_.size();
      return later ? Status() : id.error();
    }
    open_.push_back({*id, requests_[index].sampling.n});
  }
  return {};
}

asio::awaitable<std::vector<Heard>> Asking::next() {
  std::vector<Heard> heard = mailbox_->take();
  while (heard.empty()) {
    co_await wake_.async_wait(asio::as_tuple(asio::use_awaitable));
    heard = mailbox_->take();
  }
  for (const Heard& one : heard)
    if (one.event.completion && --open_[one.request].n_open == 0) ++n_answered_;
  co_return heard;
}

}  // namespace pando::serve
