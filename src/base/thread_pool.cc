#include "base/thread_pool.h"

#include "base/check.h"
#include "base/fp_state.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pando {
namespace {

// Loops of a forward pass follow each other within microseconds: spin that long before sleeping.
constexpr int kSpins = 4000;

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

// Returns once `value` differs from `old`.
template <class T>
void wait_for_change(const std::atomic<T>& value, T old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause();
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(int n_threads) {
  PANDO_CHECK(n_threads >= 1);
  try {
    for (int worker = 1; worker < n_threads; ++worker)
      threads_.emplace_back([this, worker] { worker_main(worker); });
  } catch (...) {  // the system has no more threads
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  stopping_ = true;
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::parallel_for(int64_t n_items, FunctionRef<void(int64_t, int)> body) {
  if (n_items <= 0) return;
  n_items_ = n_items;
  body_ = &body;
  failed_.store(false, std::memory_order_relaxed);
  next_item_.store(0, std::memory_order_relaxed);
  const bool shared = !threads_.empty() && n_items > 1;
  if (shared) {
    n_busy_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
    epoch_.notify_all();
  }
  {
    FpStateGuard fp_state;
    drain(0);
  }
  if (shared)
    for (int busy; (busy = n_busy_.load(std::memory_order_acquire)) != 0;)
      wait_for_change(n_busy_, busy);
  if (failed_.load(std::memory_order_acquire))
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::worker_main(int worker) {
  FpStateGuard fp_state;
  for (uint32_t seen = 0;;) {
    wait_for_change(epoch_, seen);
    ++seen;  // the caller never starts a loop before the last one has ended
    if (stopping_) return;
    drain(worker);
    if (n_busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) n_busy_.notify_one();
  }
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
