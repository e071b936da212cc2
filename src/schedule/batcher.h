// Chooses the sequences that advance together in a step: one interface for FCFS, the packer, and
// the batches of published techniques. Pure: no clock, threads or I/O, no tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "pando/values/token.h"
#include "schedule/policy.h"
#include "schedule/schedule.h"

namespace pando {

// A sequence that waits to start.
struct WaitingPrompt {
  std::span<const Token> tokens;
  uint32_t longest;  // tokens of prompt and answer at most
  uint64_t isolation_key = 0;
};

// The open sequences, before their work is looked at.
struct Queue {
  size_t n_running;
  // The sequences that wait, in order of arrival; at most as many as may run at a time.
  FunctionRef<std::vector<WaitingPrompt>()> waiting;
};

// Waiting sequences that a batcher wants to choose from. Running sequences are always shown.
struct Sight {
  // Waiting sequences are shown in order of arrival, until the sequences shown have n_rows rows to
  // compute, or n_waiting waiting ones are shown.
  uint64_t n_rows = std::numeric_limits<uint64_t>::max();
  size_t n_waiting = std::numeric_limits<size_t>::max();
  bool any_order = false;  // also shows waiting sequences that lack room to start: any may go first
  bool times = false;      // also shows what time depends on, and the requests
};

// Chooses for one step at a time: first the sequences that it wants to see, then those that
// advance.
class Batcher {
 public:
  virtual ~Batcher() = default;
  virtual Sight sight(const Queue& queue) = 0;
  // requests: one for each item of the view where Sight::times was set, else empty.
  virtual std::vector<Advance> choose(const WorkView& view,
                                      std::span<const ScheduledRequest> requests) = 0;
};

// Decodes first, then prefill in order of arrival, up to n_rows in a step (schedule_fcfs).
class FcfsBatcher final : public Batcher {
 public:
  FcfsBatcher(uint32_t n_rows, uint32_t n_parts) : n_rows_(n_rows), n_parts_(n_parts) {}
  Sight sight(const Queue&) override { return {.n_rows = uint64_t{n_rows_} * n_parts_}; }
  std::vector<Advance> choose(const WorkView& view, std::span<const ScheduledRequest>) override {
    return schedule_fcfs(view, n_rows_);
  }

 private:
  uint32_t n_rows_, n_parts_;
};

}  // namespace pando
