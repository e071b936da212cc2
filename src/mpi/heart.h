// Lets processes notice that another one has stopped.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace pando {

// A thread with which this process tells others every second that it lives, and hears the same of
// them: rank 0 of all others, and these of rank 0. A process that is stopped, or whose machine
// hangs, tells nothing; one that computes or reads files for long does.
class Heart {
 public:
  // All ranks make one at the same time. The thread calls MPI with the lock `mpi`, which outlives
  // it. Without the lock it calls `on_silence` once, when another rank was silent for too long,
  // with words that name it and its host.
  Heart(std::mutex& mpi, std::function<void(const std::string&)> on_silence);
  // Waits for the ranks of which it hears to do the same.
  ~Heart();
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

 private:
  class Peer;
  void run();
  bool beat(std::chrono::duration<double> passed, bool leaving);

  std::mutex& mpi_;
  std::function<void(const std::string&)> on_silence_;
  std::vector<std::string> hosts_;            // [n_ranks]
  std::vector<std::unique_ptr<Peer>> peers_;  // requests refer to them: none moves
  std::mutex mutex_;
  std::condition_variable changed_;
  bool leaving_ = false;
  std::thread thread_;
};

}  // namespace pando
