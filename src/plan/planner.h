// From reserved work to a StepPlan. One planner per technique; all feed the same executor.
// docs/planners.md says what a step of each is.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cache/kv_cache.h"
#include "pando/engine.h"
#include "pando/result.h"
#include "schedule/schedule.h"
#include "step/step_plan.h"

namespace pando {

// A sequence of the step that wants the rows at positions [begin, end) of its path as outputs. They
// are issued in this step, or cached already and then computed again without writing.
struct WantedOutput {
  Node* tip;
  uint32_t begin;
  uint32_t end;
  uint64_t isolation_key = 0;  // nothing is shared between keys
};

// A sequence that waits to start.
struct WaitingPrompt {
  std::span<const Token> tokens;
  uint32_t longest;  // tokens of prompt and answer at most
  uint64_t isolation_key = 0;
};

struct PlannedStep {
  StepPlan plan;
  // Index into plan.outputs, by wanted output, then by position; equal rows share one.
  std::vector<uint32_t> output_of;
  uint32_t n_recomputed = 0;  // rows that were cached already
  uint32_t n_pads = 0;        // rows beside those of the tokens, of no use
  uint32_t n_merged = 0;      // tokens that found their row made for another
};

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;
  // False: every sequence gets a tree of its own, so that nothing is shared.
  virtual bool shares_tokens() const = 0;
  // How it puts sequences together.
  virtual Batching batching() const { return {}; }
  // How many of those that wait, in order, start together, where its batches are static; at least
  // one.
  virtual size_t batch_of(std::span<const WaitingPrompt> waiting, int) { return waiting.size(); }
  // True: keys and values go to pages of its own, n_bytes of them; the engine's only count.
  virtual bool opens_store(size_t, size_t) { return false; }
  virtual size_t stored_bytes() const { return 0; }  // in these pages
  virtual bool takes_int8() const { return true; }   // as the type of keys and values
  // True: pages have one layer, which all layers of a pass write in turn. Keys and values are gone
  // after the pass, so a request must need one pass only.
  virtual bool stateless() const { return false; }
  // Whether it keeps the bits of the arithmetic, whatever else is in the step.
  virtual bool exact() const { return true; }
  // Whether what it computes is no answer at all.
  virtual bool wrong() const { return false; }
  // All issued rows of the cache's step and the outputs that are wanted.
  virtual PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) = 0;
  // The step that was planned last was not carried out, or not to its end.
  virtual void abort() {}
  // What it counted since it was made.
  virtual std::vector<Figure> figures() const { return {}; }
};

class PlannerOptions;

// One file each; `tile_len` in positions, a multiple of the page length.
std::unique_ptr<Planner> make_tree_planner(int tile_len);
std::unique_ptr<Planner> make_packed_planner(int tile_len);
std::unique_ptr<Planner> make_prefix_cached_planner(int tile_len);
std::unique_ptr<Planner> make_radix_planner(PlannerOptions& options, int tile_len);
std::unique_ptr<Planner> make_prepacked_planner(PlannerOptions& options, int tile_len);
std::unique_ptr<Planner> make_padded_planner(PlannerOptions& options, int tile_len);
std::unique_ptr<Planner> make_length_ordered_planner(PlannerOptions& options, int tile_len);
std::unique_ptr<Planner> make_hydragen_planner(PlannerOptions& options, int tile_len);
std::unique_ptr<Planner> make_no_attention_planner(int tile_len);
std::unique_ptr<Planner> make_stacked_planner(PlannerOptions& options, int tile_len);

// By what `--sharing` takes: NAME, or NAME:OPTION,OPTION=VALUE,... (docs/planners.md).
Result<std::unique_ptr<Planner>> make_planner(std::string_view sharing, int tile_len);

}  // namespace pando
