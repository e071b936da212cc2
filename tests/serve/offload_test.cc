// Work on another thread.
#include "serve/offload.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <stdexcept>
#include <utility>

namespace pando::serve {
namespace {

namespace asio = boost::asio;

int niceness() { return getpriority(PRIO_PROCESS, 0); }

// The pool ends first: its threads may still be telling the context of work that is done.
class Offload : public ::testing::Test {
 protected:
  template <class Work>
  auto run(int nice, Work work) {
    auto future = asio::co_spawn(context_, offload(pool_, nice, std::move(work)), asio::use_future);
    context_.restart();
    context_.run();
    return future.get();
  }

  asio::io_context context_;
  asio::thread_pool pool_{1};
};

TEST_F(Offload, ThreadsStepBackOnce) {
  constexpr int kMost = 19;
  const int before = niceness(), expected = std::min(before + 2, kMost);
  EXPECT_EQ(run(2, [] { return niceness(); }), expected);
  EXPECT_EQ(run(2, [] { return niceness(); }), expected) << "other work";
  EXPECT_EQ(niceness(), before);
}

TEST_F(Offload, ThrowsWhatTheWorkThrows) {
  EXPECT_THROW(run(0, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
}

}  // namespace
}  // namespace pando::serve
