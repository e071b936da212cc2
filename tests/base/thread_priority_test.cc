#include "base/thread_priority.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <thread>
#include <vector>

#include "base/thread_pool.h"

namespace pando {
namespace {

constexpr int kMost = 19;

int niceness() { return getpriority(PRIO_PROCESS, 0); }

// Nanoseconds, as sched_getattr(2) tells; 0 before Linux 6.12.
uint64_t own_slice() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes{};
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) == 0 ? attributes.runtime
                                                                                : 0;
}

TEST(ThreadPriority, IsLoweredForOneThread) {
  const int before = niceness();
  int lowered = 0;
  std::thread([&lowered] {
    lower_priority(3);
    lowered = niceness();
  }).join();
  EXPECT_EQ(lowered, std::min(before + 3, kMost));
  EXPECT_EQ(niceness(), before);
}

TEST(ThreadPriority, OfAPoolIsLoweredForItsOwnThreads) {
  const int before = niceness();
  ThreadPool pool(2, 4);
  std::vector<int> of_worker(2);
  std::barrier both(2);
  pool.parallel_for(2, [&](int64_t, int worker) {
    both.arrive_and_wait();  // so that each has one
    of_worker[static_cast<size_t>(worker)] = niceness();
  });
  EXPECT_EQ(of_worker, (std::vector<int>{before, std::min(before + 4, kMost)}));
}

TEST(ThreadPriority, ShortSlicesKeepNiceness) {
  const int before = niceness();
  int after = 0;
  uint64_t slice_before = 0, slice = 0, of_child = 0;
  std::thread([&] {
    slice_before = own_slice();
    lower_priority(2);
    ask_for_short_slices();
    after = niceness();
    slice = own_slice();
    std::thread([&of_child] { of_child = own_slice(); }).join();
  }).join();
  EXPECT_EQ(after, std::min(before + 2, kMost));
  if (slice_before == 0) GTEST_SKIP() << "a system that knows of no slices";
  EXPECT_EQ(slice, 100'000u);
  EXPECT_EQ(of_child, slice_before);
}

}  // namespace
}  // namespace pando
#endif
