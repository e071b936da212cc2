// A work group of a GPU on one thread of the CPU: its threads are fibers that take turns at
// barriers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/function_ref.h"
#include "exec/gpu/fiber_stack.h"
#include "exec/gpu/host.h"

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

// A round: each thread goes on to its next barrier, or to its end. A thread that has ended leaves
// its stack to the next one that begins.
struct Round {
  static constexpr int kNobody = -1, kEnd = -2;

  const int32_t* turn = nullptr;       // of threads; the one that runs
  const int32_t* last = nullptr;       // of threads
  FiberStack** stacks = nullptr;       // by thread; null before it begins
  FiberStack** free_stacks = nullptr;  // their end
  FiberStack* scheduler = nullptr;     // goes on after the last thread
  int barrier = kNobody;               // at which those wait that have run, or kEnd
  bool makes_shared = false;           // the first thread of a group fills the shared memory
  uint64_t launch = 0;                 // its number
};
inline constinit thread_local Round round_of_group;

// The first thread of a round is at a barrier, or kEnd. False if the barrier is removed. Any other
// thread meets no other one: the group ends with an error.
bool begin_meeting(int barrier, int line);
FiberStack* free_stack();

// Ends the turn of the thread on `stack`. Returns when a thread goes on there, or begins.
[[gnu::always_inline]] inline void pass_turn(FiberStack& stack) {
  Round& round = round_of_group;
  if (round.turn == round.last) return FiberStack::change(stack, *round.scheduler);
  place.thread = *++round.turn;
  FiberStack*& next = round.stacks[place.thread];
  if (next == nullptr) next = free_stack();
  FiberStack::change(stack, *next);
}

// A thread has ended. Returns when another begins on its stack.
[[gnu::always_inline]] inline void end_thread() {
  Round& round = round_of_group;
  if (round.barrier != Round::kEnd) begin_meeting(Round::kEnd, 0);
  FiberStack& stack = *round.stacks[*round.turn];
  if (round.turn == round.last || round.stacks[round.turn[1]] != nullptr) {
    *round.free_stacks++ = &stack;
    return pass_turn(stack);
  }
  place.thread = *++round.turn;
  round.stacks[place.thread] = &stack;
}

// bodies(): runs threads that begin on its stack, each one that `place` names.
void run_bodies(Groups groups, int n, FunctionRef<void()> bodies, const WorkGroupOptions& options);

// Runs groups of n threads, each of which calls body(). Throws std::runtime_error if a barrier is
// not met by all threads of a group.
template <class Body>
void run_work_groups(Groups groups, int n, const Body& body, const WorkGroupOptions& options) {
  const auto bodies = [&body] {
    const uint64_t launch = round_of_group.launch;
    do {
      body();
      end_thread();
    } while (round_of_group.launch == launch);
  };
  run_bodies(groups, n, bodies, options);
}

// Calls of a kernel. Memory shared by a group begins as NaN.
[[gnu::always_inline]] inline void use_shared(void* at, size_t n_bytes) {
  if (round_of_group.makes_shared) std::memset(at, 0xff, n_bytes);
}
[[gnu::always_inline]] inline void meet_at_barrier(int number, int line) {
  Round& round = round_of_group;
  if (number == round.barrier || begin_meeting(number, line)) pass_turn(*round.stacks[*round.turn]);
}

// Numbers of the barriers that groups of this thread have met since the last call, ascending.
std::vector<int> take_barriers_met();

}  // namespace pando::exec::gpu
