// How a model is spread over ranks.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "comm/comm.h"
#include "model/share.h"
#include "pando/result.h"

namespace pando::exec {

// Ranks of one stage are neighbours, and of these the ranks that divide a matrix:
// rank = (stage * kvp + part) * tp + rank in the part.
struct RankLayout {
  int spp = 1;  // stages of layers
  int kvp = 1;  // parts of the positions of each path, and of the rows of each step
  int tp = 1;   // ranks that divide the outputs of each matrix
  // Positions of a block. A path's blocks go from part to part. Whole spans, a power of two of them.
  uint32_t kvp_tokens = 8192;
  // Rows that flow through the stages together: enough to keep products efficient, few enough for
  // several slices in a step.
  uint32_t slice_rows = 128;

  // Rows are dealt over parts so that each has so many at least: products of fewer take as long.
  uint32_t rows_each = 16;

  int n_ranks() const { return spp * kvp * tp; }
  std::string name() const { return fmt::format("spp={},kvp={},tp={}", spp, kvp, tp); }
  int part_of(int rank) const { return rank / tp % kvp; }
  model::Share share_of(int rank) const {
    return {rank / (tp * kvp), spp, rank % tp, tp, part_of(rank)};
  }

  // Of "spp=2,kvp=2,tp=2,kvp_tokens=16384"; what is not named is as above. kInvalidArgument, naming
  // what was found and expected.
  static Result<RankLayout> parse(std::string_view text);
};

// kUnsupported, or kInvalidArgument as model::check_share: whether this rank can have its share.
Status check_layout(const model::ModelConfig& config, const RankLayout& layout, int rank);

// The ranks of a run, as one of them sees them.
struct Ranks {
  Comm* comm = nullptr;  // null: this process alone has the model
  RankLayout layout;
};

}  // namespace pando::exec
