// A work group of a GPU on one thread of the CPU: its threads are fibers that take turns at
// barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/function_ref.h"

namespace pando::exec::gpu {

enum class ThreadOrder { kForward, kBackward, kShuffled };

struct WorkGroupOptions {
  ThreadOrder order = ThreadOrder::kForward;  // of threads between two barriers
  int removed_barrier = -1;                   // its number; nobody waits there
};

// The place of the fiber that runs.
struct Place {
  int32_t thread = 0;
  int32_t group[3] = {};
};
inline constinit thread_local Place place;

// Runs body() as n threads of the group that `place` names. Throws std::runtime_error if a barrier
// is not met by all of them.
void run_work_group(int n, FunctionRef<void()> body, const WorkGroupOptions& options);

// Calls of a kernel. Memory shared by a group begins as NaN.
void use_shared(void* at, size_t n_bytes);
void meet_at_barrier(int number, int line);

// Numbers of the barriers that groups of this thread have met since the last call, ascending.
std::vector<int> take_barriers_met();

}  // namespace pando::exec::gpu
