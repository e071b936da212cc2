// Work that would hold up a connection's thread, done on another.
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include "base/thread_priority.h"

namespace pando::serve {

// As post, but waits for memory where there is none: nobody else tells whoever waits.
template <class Executor, class Function>
void post_when_possible(const Executor& executor, const Function& function) noexcept {
  constexpr std::chrono::milliseconds kLookAgain{20};
  for (;;) {
    try {
      boost::asio::post(executor, function);
      return;
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kLookAgain);
    }
  }
}

// Computes `work` on the pool, whose threads' niceness grows by `nice` once, and returns its value
// on the caller's executor. Throws what `work` throws. A cancellation waits for the end of the
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
        using Handler = decltype(handler);
        struct Job {
          Handler handler;
          decltype(asio::make_work_guard(handler)) guard;
          Work work;
          Outcome outcome;
        };
        auto guard = asio::make_work_guard(handler);
        const auto job = std::make_shared<Job>(
            Job{std::move(handler), std::move(guard), std::move(work), Outcome()});
        asio::post(pool, [job, nice] {
          lower_priority_once(nice);
          try {
            job->outcome.value.emplace(job->work());
          } catch (...) {
            job->outcome.thrown = std::current_exception();
          }
          post_when_possible(job->guard.get_executor(),
                             [job] { std::move(job->handler)(std::move(job->outcome)); });
        });
      },
      asio::use_awaitable, std::move(work));
  if (outcome.thrown) std::rethrow_exception(outcome.thrown);
  co_return std::move(*outcome.value);
}

}  // namespace pando::serve
