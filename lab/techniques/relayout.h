// The rows of a packed step in another order, with pads: for techniques that work per batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/techniques/masked_pass.h"
#include "plan/row_layout.h"

namespace pando::lab {

inline constexpr uint32_t kPad = UINT32_MAX;

// Rows [begin, end) of one path.
struct PathRows {
  const Node* tip;  // the last node with rows
  uint32_t begin, end;
  uint32_t n_rows() const { return end - begin; }
};

struct PathsOfStep {
  std::vector<PathRows> prompts;  // whole: they begin in this step, at position 0
  std::vector<PathRows> others;   // they go on from earlier steps
};
PathsOfStep paths_of(const RowLayout& layout);
// The root of the path that ends at a node. Every sequence has a root of its own where a planner
// shares no tokens.
const Node* root_of(const Node* node);

// Puts the rows of a step in another order, with pads. order: [n_rows] a row of the step, each row
// once, or kPad; a pad is token 0 at position 0. The first n_masked rows leave the step's tasks.
// The rows behind them must keep the step's order, and the pads among those must come last: these
// pads attend to nothing. Returns the number of these pads.
uint32_t relayout(PlannedStep& step, std::span<const uint32_t> order, uint32_t n_masked);

// Adds a stack of the next seen_from.size() rows, which see the rows of this pass only: row i of
// the stack sees cells [seen_from[i], i].
void add_stack(MaskedRows& masked, std::span<const uint32_t> seen_from,
               std::span<const uint32_t> positions, int page_len, int tile_len);

}  // namespace pando::lab
