#include "serve/awaited_group.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "serve/http.h"

namespace pando::serve {
namespace {

namespace asio = boost::asio;
using Timer = asio::steady_timer;

// Wait between looks for events that the engine's thread had no memory to announce.
constexpr std::chrono::seconds kLookAgain{1};

}  // namespace

AwaitedGroup::AwaitedGroup(Engine& engine, ShutdownGuard& shutdown_guard,
                           const std::vector<Request>& requests, asio::any_io_executor executor,
                           int max_open)
    : wake_(std::make_shared<Timer>(executor)),
      group_(engine, {.max_open = max_open,
                      .wants_text = true,
                      .checked = true,
                      .on_events = [&shutdown_guard, executor, wake = std::weak_ptr(wake_)] {
                        shutdown_guard.run_unless_closed([&] {
                          asio::post(executor, [wake] {
                            if (const auto timer = wake.lock()) timer->cancel();
                          });
                        });
                      }}) {
  const std::shared_ptr<const void> outlives;
  for (const Request& request : requests)
    group_.add(std::shared_ptr<const Request>(outlives, &request));
}

asio::awaitable<Result<std::vector<GroupEvent>>> AwaitedGroup::next() {
  for (;;) {
    group_.submit();
    std::vector<GroupEvent> events = group_.take();
    for (const GroupEvent& one : events) {
      if (!one.event.error) continue;
      failed_ = one.request;
      co_return *one.event.error;
    }
    if (!events.empty()) co_return events;
    const Timer::time_point look_again = Timer::clock_type::now() + kLookAgain;
    wake_->expires_at(std::min(group_.retry_at().value_or(look_again), look_again));
    co_await wake_->async_wait(asio::as_tuple(asio::use_awaitable));
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)  // the client left: asks no more
      throw boost::system::system_error(asio::error::operation_aborted);
  }
}

}  // namespace pando::serve
