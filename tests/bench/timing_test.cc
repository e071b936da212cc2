// Times of short calls, and processor time that others took.
#include "bench/timing.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace pando::bench {
namespace {

TEST(TimingTest, CallsTakeTurnsAndAreCounted) {
  int calls = 0;
  const CallTime time = time_calls(1e-4, [&] { ++calls; });
  EXPECT_GT(calls, 11);
  EXPECT_GT(time.wall, 0);
  int one = 0, two = 0;
  const auto times = times_in_turn(1e-4, {[&] { ++one; }, [&] { ++two; }});
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times[0].size(), 9u);
  EXPECT_EQ(times[0].size(), times[1].size());
  EXPECT_GT(one, 9);
  EXPECT_GT(two, 9);
  EXPECT_DOUBLE_EQ(times_faster({1, 2, 3}, {2, 8, 9}), 3);
}

TEST(OtherWork, AProcessCountsUntilItIsAnEndedChild) {
  const pid_t child = fork();
  if (child == 0)
    for (;;) getppid();
  ASSERT_GT(child, 0);
  const OtherWork other_work;
  usleep(600'000);
  const double while_it_works = other_work.share().value();
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  // The child's time counts as its parent's now; others had next to nothing meanwhile.
  EXPECT_LT(other_work.share().value(), while_it_works);
  EXPECT_GT(while_it_works, 0);
}

}  // namespace
}  // namespace pando::bench
