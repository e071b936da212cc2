// The counters of an engine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace pando {

// A number with a name.
struct Figure {
  std::string name;
  double value = 0;
};

// Counters since the engine was opened.
struct EngineStats {
  uint64_t arrived_tokens = 0;    // prompt tokens of answers taken up: each counts its prompt
  uint64_t arrived_shared = 0;    // of these, cached or wanted by others when they came
  uint64_t requests = 0;          // finished
  uint64_t prompt_tokens = 0;     // of finished requests' answers: each answer counts its prompt
  uint64_t generated_tokens = 0;  // of finished requests
  uint64_t prefill_rows = 0;      // rows computed for prompts
  uint64_t decode_rows = 0;       // rows computed for generated tokens
  // Rows of either kind for tokens that were computed before (docs/glossary.md gives the reasons).
  uint64_t recomputed_rows = 0;
  uint64_t pad_rows = 0;          // rows computed for no token, to fill up a batch
  uint64_t steps = 0;             // forward passes
  uint64_t preemptions = 0;       // sequences that had to make room for older ones
  uint64_t evicted_pages = 0;     // of cached keys and values, for room
  uint64_t evicted_places = 0;    // states of recurrent layers, for room
  uint64_t kv_bytes_peak = 0;     // pages in use at most
  double step_s = 0;              // seconds in steps; includes:
  double linear_s = 0;            //   matrix products
  double attention_s = 0;         //   attention
  double row_ops_s = 0;           //   norms, rotation, activations, packing, page writes
  double sampling_s = 0;          //   hashing and sampling
  double planning_s = 0;          //   scheduling, reserving, planning
  uint64_t attention_bytes = 0;   // sent by rank 0 to ranks that hold other positions
  double linear_flops = 0;        // operations of the matrix products, 2 M N K
  double predicted_s = 0;         // predicted seconds of steps that were packed by time
  double timed_s = 0;             // measured seconds of these
  double prediction_error_s = 0;  // sum of |predicted - measured| of these
  double budget_s = 0;            // sum of their limits; 0 without a budget
  std::vector<Figure> figures;    // counters of the way of sharing, since it was opened

  // States, not counts.
  uint64_t open_answers = 0;       // waiting or running
  uint64_t running_answers = 0;    // of these, with keys and values
  uint64_t open_tokens = 0;        // predicted keys and values of these, as max_queue counts
  double queued_s = 0;             // predicted seconds of prompts among them, each alone
  uint64_t queued_tokens = 0;      // tokens of these, without those shared when they came
  uint64_t kv_bytes = 0;           // pages and states in use, cached ones too
  uint64_t kv_capacity_bytes = 0;  // pages and states that kv_memory holds
  uint64_t places = 0;             // states of recurrent layers, in use or cached
  uint64_t place_bytes = 0;        // of these; kv_bytes has them too
  uint64_t kv_ready_bytes = 0;     // free pages that have memory behind them
  uint64_t tree_nodes = 0;

  // The counts since `before`; kv_bytes_peak and the states stay as they are.
  EngineStats since(const EngineStats& before) const;
  // Adds those of another engine of the same run: all but the figures become the sum of both.
  void add(const EngineStats& other);
};

}  // namespace pando
