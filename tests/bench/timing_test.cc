// Times of short calls, and processor time that others took.
#include "bench/timing.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "model/test_files.h"

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

// Ends after 0.4 s of processor time.
pid_t start_child() {
  const pid_t child = fork();
  if (child != 0) return child;
  while (processor_seconds() < 0.4) getppid();
  _exit(0);
}

// The system counts 0.2 s of others, half of the child's time.
TEST(OtherWork, AProcessCountsUntilItIsAnEndedChild) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "proc");
  const auto write_busy = [&](long ticks) {
    std::ofstream(folder.path() / "proc/stat") << "cpu  " << 1000 + ticks << " 0 0 0 0 0 0 0 0 0\n";
  };
  write_busy(0);
  const OtherWork of_system, other_work(folder.path());
  const pid_t child = start_child();
  ASSERT_GT(child, 0);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  write_busy(sysconf(_SC_CLK_TCK) / 5);
  EXPECT_GT(of_system.share().value(), 0);
  EXPECT_GT(other_work.share().value(), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  // The child's time counts as its parent's now.
  EXPECT_EQ(other_work.share().value(), 0);
}

}  // namespace
}  // namespace pando::bench
