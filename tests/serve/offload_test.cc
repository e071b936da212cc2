// Work on another thread.
#include "serve/offload.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <stdexcept>

namespace pando::serve {
namespace {

namespace asio = boost::asio;

int niceness() { return getpriority(PRIO_PROCESS, 0); }

template <class Value>
Value result_of(asio::awaitable<Value> work) {
  asio::io_context context;
  std::future<Value> future = asio::co_spawn(context, std::move(work), asio::use_future);
  context.run();
  return future.get();
}

TEST(Offload, ThreadsStepBackOnce) {
  constexpr int kMost = 19;
  asio::thread_pool pool(1);
  const int before = niceness(), expected = std::min(before + 2, kMost);
  EXPECT_EQ(result_of(offload(pool, 2, [] { return niceness(); })), expected);
  EXPECT_EQ(result_of(offload(pool, 2, [] { return niceness(); })), expected) << "other work";
  EXPECT_EQ(niceness(), before);
}

TEST(Offload, ThrowsWhatTheWorkThrows) {
  asio::thread_pool pool(1);
  const auto fails = []() -> int { throw std::runtime_error("no"); };
  EXPECT_THROW(result_of(offload(pool, 0, fails)), std::runtime_error);
}

}  // namespace
}  // namespace pando::serve
