// Turns reserved work into a StepPlan. One planner for each way of sharing; all feed the same
// executor. lab/docs/planners.md describes the steps of each.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "cache/kv_cache.h"
#include "contract/step_plan.h"

namespace pando {

// A sequence of the step that wants the rows at positions [begin, end) of its path as outputs. They
// are issued in this step, or cached already and then computed again. So are the rows [first_row,
// begin), from which recurrent layers get their states, and layers with a window their keys and
// values. Recomputed rows write window pages only.
struct WantedOutput {
  Node* tip;
  uint32_t begin;
  uint32_t end;
  uint64_t isolation_key = 0;       // nothing is shared between keys
  uint32_t first_row = UINT32_MAX;  // from `begin` on: there are no such rows
};

struct PlannedStep {
  StepPlan plan;
  // Index into plan.outputs, by wanted output, then by position; equal rows share one.
  std::vector<uint32_t> output_of;
  uint32_t n_recomputed = 0;  // rows that were cached already
  uint32_t n_pads = 0;        // rows that stand for no token
};

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::string_view name() const = 0;
  // False: every sequence gets a tree of its own, so that nothing is shared.
  virtual bool shares_tokens() const = 0;
  // All issued rows of the cache's step and the outputs that are wanted.
  virtual PlannedStep plan(const KvCache& cache, const std::vector<WantedOutput>& wanted) = 0;
};

// The engine's own; `tile_len` in positions, a multiple of the page length.
std::unique_ptr<Planner> make_tree_planner(int tile_len);
std::unique_ptr<Planner> make_packed_planner(int tile_len);
std::unique_ptr<Planner> make_prefix_cached_planner(int tile_len);

}  // namespace pando
