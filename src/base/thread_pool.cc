#include "base/thread_pool.h"

#include "base/check.h"
#include "base/fp_state.h"
#include "base/machine.h"
#include "base/memory_nodes.h"
#include "base/thread_priority.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pando {
namespace {

// Loops of a forward pass follow each other within microseconds: spin that long before sleeping. A
// thread that waits must not take the processor from one that works.
constexpr int kSpins = 4000;
int spins_of(int n_threads) { return n_threads <= available_processors() ? kSpins : 0; }

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Fields of `state_`, from bit 0: workers in the current loop, the loop is open, the pool ends,
// number of the loop. If the number wraps to the same value while a worker sleeps, the worker
// misses this loop, and nothing else happens.
constexpr uint32_t kOpen = 1u << 11, kInside = kOpen - 1, kEnd = kOpen << 1, kOneLoop = kEnd << 1;

uint32_t loop_of(uint32_t state) { return state / kOneLoop; }

// Returns a state that `wanted` holds of; others end the wait by a notification.
template <class Wanted>
uint32_t wait_until(const std::atomic<uint32_t>& state, int n_spins, const Wanted& wanted) {
  uint32_t seen = state.load(std::memory_order_acquire);
  for (int spin = 0; spin < n_spins && !wanted(seen); ++spin) {
    pause();
    seen = state.load(std::memory_order_acquire);
  }
  for (; !wanted(seen); seen = state.load(std::memory_order_acquire))
    state.wait(seen, std::memory_order_acquire);
  return seen;
}

}  // namespace

ThreadPool::ThreadPool(int n_threads, int nice) : n_spins_(spins_of(n_threads)) {
  PANDO_CHECK(n_threads >= 1 && n_threads <= static_cast<int>(kInside));
  runs_ = std::vector<Run>(static_cast<size_t>(n_threads));
  try {
    for (int worker = 1; worker < n_threads; ++worker)
      threads_.emplace_back([this, worker, n_threads, nice] {
        lower_priority(nice);
        MemoryNodes::here().bind(worker, n_threads);
        worker_main(worker);
      });
  } catch (...) {  // the system has no more threads
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  publish(kEnd);
  for (std::thread& thread : threads_) thread.join();
}

// Begins the next loop, with no worker in it.
void ThreadPool::publish(uint32_t flags) {
  const uint32_t last = state_.load(std::memory_order_relaxed);
  // Sequentially consistent with the waiters' count of themselves, which the notification reads.
  state_.store((last & ~(kOpen | kInside)) + kOneLoop + flags, std::memory_order_seq_cst);
  state_.notify_all();
}

void ThreadPool::parallel_for(int64_t n_items, FunctionRef<void(int64_t, int)> body) {
  if (n_items <= 0) return;
  n_items_ = n_items;
  body_ = &body;
  failed_.store(false, std::memory_order_relaxed);
  next_item_.store(0, std::memory_order_relaxed);
  const bool shared = !threads_.empty() && n_items > 1;
  if (shared) publish(kOpen);
  {
    FpStateGuard fp_state;
    drain(0);
  }
  if (shared) {
    state_.fetch_and(~kOpen, std::memory_order_acq_rel);
    wait_until(state_, n_spins_, [](uint32_t state) { return (state & kInside) == 0; });
  }
  if (failed_.load(std::memory_order_acquire))
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::parallel_runs(int64_t n_items, FunctionRef<void(int64_t, int)> body) {
  const auto n_runs = static_cast<int64_t>(runs_.size());
  for (int64_t i = 0; i < n_runs; ++i) {
    runs_[i].next.store(i * n_items / n_runs, std::memory_order_relaxed);
    runs_[i].end = (i + 1) * n_items / n_runs;
  }
  parallel_for(n_items, [&](int64_t, int worker) { body(take(worker), worker); });
}

// An item of the worker's own run, else of another's: there is one, as there are as many items as
// calls.
int64_t ThreadPool::take(int worker) {
  const size_t n_runs = runs_.size();
  for (size_t i = 0; i < n_runs; ++i) {
    Run& run = runs_[(static_cast<size_t>(worker) + i) % n_runs];
    if (run.next.load(std::memory_order_relaxed) >= run.end) continue;
    const int64_t item = run.next.fetch_add(1, std::memory_order_relaxed);
    if (item < run.end) return item;
  }
  PANDO_CHECK(false);
  return 0;
}

void ThreadPool::worker_main(int worker) {
  FpStateGuard fp_state;
  for (uint32_t last = 0;;) {
    const uint32_t state = wait_until(state_, n_spins_, [last](uint32_t now) {
      return loop_of(now) != last || (now & kEnd) != 0;
    });
    if ((state & kEnd) != 0) return;
    last = loop_of(state);
    if (!enter(last)) continue;
    drain(worker);
    leave();
  }
}

// False if the loop is over: nothing of it may be looked at.
bool ThreadPool::enter(uint32_t loop) {
  uint32_t state = state_.load(std::memory_order_acquire);
  while (loop_of(state) == loop && (state & kOpen) != 0)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void ThreadPool::leave() {
  const uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & (kOpen | kInside)) == 1) state_.notify_all();  // the caller waits for this
}

void ThreadPool::drain(int worker) {
  for (int64_t item; (item = next_item_.fetch_add(1, std::memory_order_relaxed)) < n_items_;) {
    try {
      (*body_)(item, worker);
    } catch (...) {
      if (!failed_.exchange(true, std::memory_order_acq_rel)) failure_ = std::current_exception();
      next_item_.store(n_items_, std::memory_order_relaxed);
    }
  }
}

}  // namespace pando
