// Ways to schedule, and what they make of requests: by the server, and by the simulator.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/papers/serve_figures.h"
#include "pando/engine.h"
#include "schedule/predictor.h"

namespace pando::lab {

struct Contender {
  std::string name;           // for people
  EngineOptions engine;       // as the server's
  bool many_prefills = true;  // PackerOptions
};

// Returns all: LARS with packing, alone (one prefill at a time), EDF, LRS, and two baselines by
// arrival: chunks of `static_rows`, and whole prompts, which is the last one. step_budget: seconds
// of a step of those that go by time.
std::vector<Contender> contenders(const EngineOptions& base, double step_budget, int static_rows);

// Each policy with chunks by time, many prefills in a step and one; and FCFS with chunks of fixed
// numbers of rows, as Sarathi has them. Medha, section 6.1.
std::vector<Contender> ablations(const EngineOptions& base, double step_budget,
                                 const std::vector<int>& fixed_rows);

// All requests of a run have these in common.
struct ServedModel {
  std::shared_ptr<const Model> model;
  Token letter = 0;           // of kLetter (serve_client.h)
  Predictor predictor{{}};    // of steps on this machine
  size_t kv_token_bytes = 0;  // keys and values of a token
};

struct LiveWindow {
  ServedWindow window;
  EngineStats stats;
};
// A server of its own is asked over loopback, at first a few short requests and the longest, which
// do not count; the tokens of prompts are random. What is not answered by the end is dropped.
// Errors, thrown: what the server answered other than tokens.
LiveWindow serve_live(const ServedModel& served, const Contender& who,
                      std::vector<ServedRequest> requests, Span span);

// Does the same by the simulator: steps take as long as predicted, and all else takes no time.
ServedWindow serve_simulated(const ServedModel& served, const Contender& who,
                             std::vector<ServedRequest> requests, Span span);
// With a quarter of the machine's speed for short prompts alone (Medha, section 6.5).
ServedWindow serve_in_pools(const ServedModel& served, const Contender& who,
                            std::vector<ServedRequest> requests, Span span);

}  // namespace pando::lab
