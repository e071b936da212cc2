// A fixed set of threads that run one loop at a time. The calling thread works too.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace pando {

// Owned by one engine and driven by its thread; loops are not re-entrant.
// Every worker runs with the default floating-point state (base/fp_state.h), so results never
// depend on which thread does a piece of work.
class ThreadPool {
 public:
  // n_threads counts the caller: 1 starts no thread. nice: added to the niceness of the other
  // threads, which stay on their memory nodes (base/memory_nodes.h). Throws std::system_error if
  // threads cannot be started.
  explicit ThreadPool(int n_threads, int nice = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int n_threads() const { return static_cast<int>(threads_.size()) + 1; }

  // Calls body(item, worker) once for every item in [0, n_items), worker in [0, n_threads()).
  // Items are handed out in order, one at a time. Returns when all are done, without waiting for
  // workers that have not begun by then: where processors are busy, the caller does the work. The
  // first exception a body threw is thrown again here.
  void parallel_for(int64_t n_items, FunctionRef<void(int64_t item, int worker)> body);
  // Does the same in another order: every worker has neighbouring items, in order, and goes on with
  // what others have left. For items that lie side by side in memory.
  void parallel_runs(int64_t n_items, FunctionRef<void(int64_t item, int worker)> body);

 private:
  void stop();
  void publish(uint32_t flags);
  void worker_main(int worker);
  bool enter(uint32_t loop);
  void leave();
  void drain(int worker);
  int64_t take(int worker);

  // A worker's items that are not begun, in a cache line of their own.
  struct alignas(64) Run {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  int n_spins_;  // before a thread that waits sleeps
  std::vector<std::thread> threads_;
  // The number of the loop, whether it is open to workers, and how many are in it: see the source.
  std::atomic<uint32_t> state_{0};
  std::atomic<int64_t> next_item_{0};
  int64_t n_items_ = 0;
  std::vector<Run> runs_;  // of all workers
  const FunctionRef<void(int64_t, int)>* body_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

}  // namespace pando
