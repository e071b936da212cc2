// Ranks that are threads of one process.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/comm.h"

namespace pando {

// The ends of all ranks. Outlives their use.
class ThreadComms {
 public:
  explicit ThreadComms(int n_ranks);
  ~ThreadComms();
  Comm& of(int rank);
  // Says that a rank is gone: every call that waits, or will wait, throws.
  void fail();

 private:
  class End;
  struct Box {
    std::deque<std::vector<std::byte>> messages;
  };

  std::mutex mutex_;
  std::condition_variable arrived_;
  bool failed_ = false;
  std::vector<Box> boxes_;  // [to, from]
  std::vector<std::unique_ptr<End>> ends_;
};

}  // namespace pando
