#include "exec/gpu/work_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/mix.h"
#include "exec/gpu/fiber_stack.h"

namespace pando::exec::gpu {
namespace {

// Work groups of one thread of the CPU.
struct State {
  std::vector<std::unique_ptr<FiberStack>> stacks;
  std::vector<FiberStack*> free_stacks;  // with room for all
  FiberStack scheduler;
  std::vector<FiberStack*> stacks_of_threads;
  std::vector<int32_t> turns;  // threads in the order of this round
  const FunctionRef<void()>* bodies = nullptr;
  int removed_barrier = -1;
  int line = 0;  // of the barrier of this round
  bool has_failed = false;
  int other_barrier = 0, other_line = 0;  // met by a thread when it failed
  std::vector<bool> barriers_met;         // by number
};
thread_local State state_of_thread;
constinit thread_local State* state = nullptr;  // the same

void run_stack() {
  FiberStack::arrive(state->scheduler);
  for (;;) (*state->bodies)();
}

std::string barrier_text(int barrier, int line) {
  return barrier == Round::kEnd ? "the end" : fmt::format("the barrier of line {}", line);
}

// Leaves a thread in the middle of its body, so nothing that it owns is freed.
void fail(int barrier, int line) {
  state->has_failed = true;
  state->other_barrier = barrier;
  state->other_line = line;
  FiberStack::change(*round_of_group.stacks[*round_of_group.turn], state->scheduler);
}

// Threads that wait in the middle of a body cannot begin another.
[[noreturn]] void throw_failure() {
  state->free_stacks.clear();
  state->stacks.clear();
  round_of_group.free_stacks = state->free_stacks.data();
  state->has_failed = false;
  throw std::runtime_error(fmt::format("threads of a work group meet at {} and at {}",
                                       barrier_text(round_of_group.barrier, state->line),
                                       barrier_text(state->other_barrier, state->other_line)));
}

void begin_group(ThreadOrder order) {
  const size_t n = state->turns.size();
  state->stacks_of_threads.assign(n, nullptr);
  std::iota(state->turns.begin(), state->turns.end(), 0);
  if (order == ThreadOrder::kBackward) std::ranges::reverse(state->turns);
  round_of_group.last = state->turns.data() + n - 1;
  round_of_group.stacks = state->stacks_of_threads.data();
  round_of_group.makes_shared = true;
}

void run_group(ThreadOrder order) {
  begin_group(order);
  std::vector<int32_t>& turns = state->turns;
  uint64_t seed = 0;
  do {
    if (order == ThreadOrder::kShuffled)
      for (size_t i = turns.size() - 1; i > 0; --i)
        std::swap(turns[i], turns[mix64(++seed) % (i + 1)]);
    round_of_group.turn = turns.data();
    round_of_group.barrier = Round::kNobody;
    place.thread = turns[0];
    FiberStack*& stack = state->stacks_of_threads[place.thread];
    if (stack == nullptr) stack = free_stack();
    FiberStack::change(state->scheduler, *stack);
    if (state->has_failed) throw_failure();
  } while (round_of_group.barrier != Round::kEnd);
}

}  // namespace

void run_bodies(Groups groups, int n, FunctionRef<void()> bodies, const WorkGroupOptions& options) {
  state = &state_of_thread;
  state->bodies = &bodies;
  state->removed_barrier = options.removed_barrier;
  state->turns.resize(n);
  round_of_group.scheduler = &state->scheduler;
  ++round_of_group.launch;
  for (uint32_t z = 0; z < groups.z; ++z)
    for (uint32_t y = 0; y < groups.y; ++y)
      for (uint32_t x = 0; x < groups.x; ++x) {
        place = {0, {static_cast<int32_t>(x), static_cast<int32_t>(y), static_cast<int32_t>(z)}};
        run_group(options.order);
      }
}

FiberStack* free_stack() {
  FiberStack** const begin = state->free_stacks.data();
  if (round_of_group.free_stacks != begin) return *--round_of_group.free_stacks;
  const int colour = static_cast<int>(state->stacks.size());
  state->stacks.push_back(std::make_unique<FiberStack>(run_stack, colour));
  state->free_stacks.resize(state->stacks.size());  // none of them is free
  round_of_group.free_stacks = state->free_stacks.data();
  return state->stacks.back().get();
}

bool begin_meeting(int barrier, int line) {
  round_of_group.makes_shared = false;
  if (barrier != Round::kEnd) {
    const auto number = static_cast<size_t>(barrier);
    if (state->barriers_met.size() <= number) state->barriers_met.resize(number + 1);
    state->barriers_met[number] = true;
    if (barrier == state->removed_barrier) return false;
  }
  if (round_of_group.barrier != Round::kNobody) fail(barrier, line);
  round_of_group.barrier = barrier;
  state->line = line;
  return true;
}

std::vector<int> take_barriers_met() {
  std::vector<int> numbers;
  if (state == nullptr) return numbers;
  for (size_t i = 0; i < state->barriers_met.size(); ++i)
    if (state->barriers_met[i]) numbers.push_back(static_cast<int>(i));
  state->barriers_met.clear();
  return numbers;
}

}  // namespace pando::exec::gpu
