// What others took of the processors.
#include "bench/timing.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace pando::bench {
namespace {

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
  // What the child had is its parent's now; others had next to nothing meanwhile.
  EXPECT_LT(other_work.share().value(), while_it_works);
  EXPECT_GT(while_it_works, 0);
}

}  // namespace
}  // namespace pando::bench
