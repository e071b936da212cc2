// One replica of a simulation: the engine's scheduler over a machine that takes as long for a step
// as a predictor says, and a cache of pieces.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "lab/simulate/simulated_executor.h"
#include "schedule/held_pieces.h"
#include "schedule/remaining.h"
#include "schedule/replica_load.h"

namespace pando::lab {

struct RoutedRequest {
  double arrival = 0;         // seconds
  std::vector<Piece> pieces;  // of its prompt
  uint32_t n_prompt = 1;      // tokens, at least those of its pieces
  uint32_t n_answer = 1;      // tokens, at least 1
  bool is_short = false;      // for figures
};

// A prompt finds the pieces of those that came before it: as in an engine, where it waits for the
// ones that are not computed yet.
class SimulatedReplica {
 public:
  // n_pieces: room of the cache. longest: tokens of a prompt. The predictor outlives it.
  SimulatedReplica(const Predictor& predictor, const SimulationOptions& options, size_t n_pieces,
                   uint32_t longest);

  // The request outlives its answer.
  void add(uint32_t index, const RoutedRequest& request, double now);
  // When its step ends; infinite without one.
  double next() const { return step_end_; }
  struct Event {
    uint32_t index;  // of the request
    bool is_first;   // token
    bool is_last;
  };
  // Ends the step, and begins the next one. Events of the step.
  std::vector<Event> end_step();

  ReplicaReport report(double now) const;
  HeldDigest held_since(uint64_t version) const { return cache_.since(version); }
  double n_shared() const { return n_shared_; }  // tokens of prompts that were cached

 private:
  struct Active {
    uint32_t index;
    const RoutedRequest* request;
    ScheduledRequest scheduled;
    uint32_t n_done = 0;    // rows: of the prompt, cached ones included, and of the answer
    uint32_t n_tokens = 0;  // of its answer so far
    bool running = false;
  };
  double seconds_left(const Active& active) const;
  WorkView view();
  void begin_step(double now);

  static constexpr double kIdle = std::numeric_limits<double>::infinity();

  const Predictor& predictor_;
  SimulationOptions options_;
  RemainingTable remaining_;
  HeldPieces cache_;
  size_t n_pieces_;
  std::vector<Active> active_;  // in order of arrival
  std::vector<Advance> step_;   // under way; items are indices of active_
  double step_end_ = kIdle;
  double n_shared_ = 0;
};

}  // namespace pando::lab
