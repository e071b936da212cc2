#include "serve/shutdown_guard.h"

#include <gtest/gtest.h>

namespace pando::serve {
namespace {

TEST(ShutdownGuard, RunsNothingOnceItIsClosed) {
  ShutdownGuard guard;
  int n_runs = 0;
  guard.run_unless_closed([&] { ++n_runs; });
  guard.close();
  guard.run_unless_closed([&] { ++n_runs; });
  EXPECT_EQ(n_runs, 1);
}

}  // namespace
}  // namespace pando::serve
