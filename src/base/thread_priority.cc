#include "base/thread_priority.h"

#if defined(__linux__)
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace pando {

#if defined(__linux__)
namespace {

// The struct of sched_setattr(2); the C library of Debian 12 has neither this nor the calls.
struct SchedulingAttributes {
  uint32_t size = sizeof(SchedulingAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;  // nanoseconds
};
constexpr uint64_t kResetOnFork = 1;
constexpr uint64_t kShortSlice = 100'000;

}  // namespace

// Linux keeps niceness for each thread, whatever POSIX says.
void lower_priority(int by) { setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + by); }

void ask_for_short_slices() {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;  // the attributes have another meaning there
  attributes.flags = kResetOnFork;
  attributes.runtime = kShortSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}
#else
void lower_priority(int) {}
void ask_for_short_slices() {}
#endif

void lower_priority_once(int by) {
  thread_local bool is_lowered = false;
  if (!is_lowered) lower_priority(by);
  is_lowered = true;
}

}  // namespace pando
