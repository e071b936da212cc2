#include "exec/gpu/work_group.h"

#include <fmt/format.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "base/mix.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#else
#define __sanitizer_start_switch_fiber(...)
#define __sanitizer_finish_switch_fiber(...)
#endif

namespace pando::exec::gpu {
namespace {

constexpr size_t kStackBytes = size_t{128} << 10;

struct Fiber {
  std::unique_ptr<char[]> stack;  // null before its first turn
  ucontext_t begin;
  jmp_buf turn;
  bool is_done = false;
  int barrier = -1, line = 0;  // where it waits
};

// The fibers of one thread of the CPU. They begin once and then run one body after another.
struct Fibers {
  std::vector<std::unique_ptr<Fiber>> fibers;
  jmp_buf scheduler;
  const FunctionRef<void()>* body = nullptr;
  int removed_barrier = -1;
  bool is_first = false;  // of the group, so that it makes the shared memory
  std::vector<int> barriers_met;
  const void* scheduler_stack = nullptr;  // for the address sanitizer
  size_t scheduler_stack_bytes = 0;
};
thread_local Fibers fibers_of_thread;
constinit thread_local Fibers* state = nullptr;  // these

[[gnu::noinline]] void run_body() {
  (*state->body)();
  state->fibers[place.thread]->is_done = true;
}

[[gnu::noinline]] void begin_turn() {
  __sanitizer_finish_switch_fiber(nullptr, &state->scheduler_stack, &state->scheduler_stack_bytes);
}

[[gnu::noinline]] void end_turn() {
  __sanitizer_start_switch_fiber(nullptr, state->scheduler_stack, state->scheduler_stack_bytes);
  if (_setjmp(state->fibers[place.thread]->turn) == 0) _longjmp(state->scheduler, 1);
  begin_turn();
}

void run_fiber() {
  begin_turn();
  for (;;) {
    run_body();
    end_turn();
  }
}

[[gnu::noinline]] void give_turn(Fiber& fiber) {
  const bool is_new = fiber.stack == nullptr;
  if (is_new) fiber.stack = std::make_unique<char[]>(kStackBytes);
  __sanitizer_start_switch_fiber(nullptr, fiber.stack.get(), kStackBytes);
  if (_setjmp(state->scheduler) != 0) {
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
    return;
  }
  if (!is_new) _longjmp(fiber.turn, 1);
  getcontext(&fiber.begin);
  fiber.begin.uc_stack.ss_sp = fiber.stack.get();
  const size_t colour = place.thread % 16 * 256;  // not all stacks in the same lines of the cache
  fiber.begin.uc_stack.ss_size = kStackBytes - colour;
  fiber.begin.uc_link = nullptr;
  makecontext(&fiber.begin, run_fiber, 0);
  setcontext(&fiber.begin);
}

void prepare(int n) {
  state = &fibers_of_thread;
  while (state->fibers.size() < static_cast<size_t>(n))
    state->fibers.push_back(std::make_unique<Fiber>());
  for (int i = 0; i < n; ++i) state->fibers[i]->is_done = false;
}

// Those that wait in the middle of a body cannot begin another.
[[noreturn]] void fail(const Fiber& one, const Fiber& other) {
  const auto name = [](const Fiber& fiber) {
    return fiber.is_done ? std::string("the end")
                         : fmt::format("the barrier of line {}", fiber.line);
  };
  const std::string text =
      fmt::format("threads of a work group meet at {} and at {}", name(one), name(other));
  state->fibers.clear();
  throw std::runtime_error(text);
}

void check_met(int n) {
  const Fiber& first = *state->fibers[0];
  for (int i = 1; i < n; ++i) {
    const Fiber& fiber = *state->fibers[i];
    if (fiber.is_done != first.is_done || (!first.is_done && fiber.barrier != first.barrier))
      fail(first, fiber);
  }
}

}  // namespace

void run_work_group(int n, FunctionRef<void()> body, const WorkGroupOptions& options) {
  prepare(n);
  state->body = &body;
  state->removed_barrier = options.removed_barrier;
  state->is_first = true;
  std::vector<int> turns(n);
  std::iota(turns.begin(), turns.end(), 0);
  if (options.order == ThreadOrder::kBackward) std::ranges::reverse(turns);
  uint64_t seed = 0;
  while (!state->fibers[0]->is_done) {
    if (options.order == ThreadOrder::kShuffled)
      for (int i = n - 1; i > 0; --i) std::swap(turns[i], turns[mix64(++seed) % (i + 1)]);
    for (const int turn : turns) {
      place.thread = turn;
      give_turn(*state->fibers[turn]);
      state->is_first = false;
    }
    check_met(n);
  }
}

void use_shared(void* at, size_t n_bytes) {
  if (state->is_first) std::memset(at, 0xff, n_bytes);
}

void meet_at_barrier(int number, int line) {
  if (std::ranges::find(state->barriers_met, number) == state->barriers_met.end())
    state->barriers_met.push_back(number);
  if (number == state->removed_barrier) return;
  Fiber& fiber = *state->fibers[place.thread];
  fiber.barrier = number;
  fiber.line = line;
  end_turn();
}

std::vector<int> take_barriers_met() {
  if (state == nullptr) return {};
  std::ranges::sort(state->barriers_met);
  return std::exchange(state->barriers_met, {});
}

}  // namespace pando::exec::gpu
