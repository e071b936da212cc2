#include "exec/gpu/work_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/mix.h"
#include "exec/gpu/fiber_stack.h"

namespace pando::exec::gpu {
namespace {

// A thread of the work group.
struct Thread {
  FiberStack* stack = nullptr;  // null before it begins
  bool is_done = false;
  int barrier = -1, line = 0;  // where it waits
};

// Work groups of one thread of the CPU. A thread that has ended leaves its stack to the next one
// that begins.
struct State {
  std::vector<std::unique_ptr<FiberStack>> stacks;
  std::vector<FiberStack*> free_stacks;
  FiberStack scheduler;
  std::vector<Thread> threads;
  std::vector<int> turns;  // threads in the order of this round
  size_t turn = 0;
  const FunctionRef<void()>* body = nullptr;
  int removed_barrier = -1;
  bool is_first = false;  // of the group, so that it makes the shared memory
  std::vector<int> barriers_met;
};
thread_local State state_of_thread;
constinit thread_local State* state = nullptr;  // the same

void run_threads();

FiberStack* free_stack() {
  if (state->free_stacks.empty()) {
    const int colour = static_cast<int>(state->stacks.size());
    state->stacks.push_back(std::make_unique<FiberStack>(run_threads, colour));
    return state->stacks.back().get();
  }
  FiberStack* const stack = state->free_stacks.back();
  state->free_stacks.pop_back();
  return stack;
}

// The thread whose turn it is; null after the last.
Thread* begin_turn() {
  if (state->turn == state->turns.size()) return nullptr;
  place.thread = state->turns[state->turn];
  return &state->threads[place.thread];
}

FiberStack& stack_of(Thread* thread) {
  if (thread == nullptr) return state->scheduler;
  if (thread->stack == nullptr) thread->stack = free_stack();
  return *thread->stack;
}

// The turn of the thread that runs on `stack` ends.
[[gnu::noinline]] void pass_turn(FiberStack& stack) {
  state->is_first = false;
  ++state->turn;
  FiberStack::change(stack, stack_of(begin_turn()));
}

// Runs the body of a thread, and then of those that begin next. The last thread's stack.
[[gnu::noinline]] FiberStack& run_bodies() {
  for (;;) {
    Thread& thread = state->threads[place.thread];
    (*state->body)();
    thread.is_done = true;
    const size_t next = state->turn + 1;
    if (next == state->turns.size() || state->threads[state->turns[next]].stack != nullptr)
      return *thread.stack;
    state->is_first = false;
    ++state->turn;
    begin_turn()->stack = thread.stack;
  }
}

void run_threads() {
  FiberStack::arrive(state->scheduler);
  for (;;) {
    FiberStack& stack = run_bodies();
    state->free_stacks.push_back(&stack);
    pass_turn(stack);
  }
}

// Threads that wait in the middle of a body cannot begin another.
[[noreturn]] void fail(const Thread& one, const Thread& other) {
  const auto name = [](const Thread& thread) {
    return thread.is_done ? std::string("the end")
                          : fmt::format("the barrier of line {}", thread.line);
  };
  const std::string text =
      fmt::format("threads of a work group meet at {} and at {}", name(one), name(other));
  state->free_stacks.clear();
  state->stacks.clear();
  throw std::runtime_error(text);
}

void check_met() {
  const Thread& first = state->threads[0];
  for (const Thread& thread : state->threads)
    if (thread.is_done != first.is_done || (!first.is_done && thread.barrier != first.barrier))
      fail(first, thread);
}

}  // namespace

void run_work_group(int n, FunctionRef<void()> body, const WorkGroupOptions& options) {
  state = &state_of_thread;
  state->body = &body;
  state->removed_barrier = options.removed_barrier;
  state->is_first = true;
  state->threads.assign(n, {});
  state->turns.resize(n);
  std::iota(state->turns.begin(), state->turns.end(), 0);
  if (options.order == ThreadOrder::kBackward) std::ranges::reverse(state->turns);
  uint64_t seed = 0;
  while (!state->threads[0].is_done) {
    if (options.order == ThreadOrder::kShuffled)
      for (int i = n - 1; i > 0; --i)
        std::swap(state->turns[i], state->turns[mix64(++seed) % (i + 1)]);
    state->turn = 0;
    FiberStack::change(state->scheduler, stack_of(begin_turn()));
    check_met();
  }
}

void use_shared(void* at, size_t n_bytes) {
  if (state->is_first) std::memset(at, 0xff, n_bytes);
}

void meet_at_barrier(int number, int line) {
  if (std::ranges::find(state->barriers_met, number) == state->barriers_met.end())
    state->barriers_met.push_back(number);
  if (number == state->removed_barrier) return;
  Thread& thread = state->threads[place.thread];
  thread.barrier = number;
  thread.line = line;
  pass_turn(*thread.stack);
}

std::vector<int> take_barriers_met() {
  if (state == nullptr) return {};
  std::ranges::sort(state->barriers_met);
  return std::exchange(state->barriers_met, {});
}

}  // namespace pando::exec::gpu
