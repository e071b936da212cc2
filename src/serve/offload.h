// Work that would hold up a connection's thread, done on another.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/thread_priority.h"

namespace pando::serve {

// What `work` returns, computed on the pool, whose threads' niceness grows by `nice` once; it goes
// on on the caller's executor. Throws what `work` throws. A cancellation waits for the end of the
// work.
template <class Work, class Value = std::invoke_result_t<Work>>
boost::asio::awaitable<Value> offload(boost::asio::thread_pool& pool, int nice, Work work) {
  namespace asio = boost::asio;
  // Default constructible, as a completion wants it.
  struct Outcome {
    std::optional<Value> value;
    std::exception_ptr thrown;
  };
  auto outcome = co_await asio::async_initiate<decltype(asio::use_awaitable), void(Outcome)>(
      [&pool, nice](auto handler, Work work) {
        auto guard = asio::make_work_guard(handler);
        asio::post(pool, [handler = std::move(handler), guard = std::move(guard),
                          work = std::move(work), nice]() mutable {
          lower_priority_once(nice);
          Outcome outcome;
          try {
            outcome.value.emplace(work());
          } catch (...) {
            outcome.thrown = std::current_exception();
          }
          const auto executor = guard.get_executor();
          asio::post(executor, [handler = std::move(handler), guard = std::move(guard),
                                outcome = std::move(outcome)]() mutable {
            std::move(handler)(std::move(outcome));
          });
        });
      },
      asio::use_awaitable, std::move(work));
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  co_return std::move(*outcome.value);
}

}  // namespace pando::serve
