// How a model is spread over ranks.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "comm/comm.h"
#include "model/share.h"
#include "pando/result.h"

namespace pando::exec {

// Ranks of one stage are neighbours: rank = stage * tp + rank in the stage.
struct RankLayout {
  int spp = 1;  // stages of layers
  int tp = 1;   // ranks that divide the outputs of each matrix
  // Rows that flow through the stages together: enough to keep products efficient, few enough for
  // several slices in a step.
  uint32_t slice_rows = 128;

  int n_ranks() const { return spp * tp; }
  std::string name() const { return fmt::format("spp={},tp={}", spp, tp); }
  model::Share share_of(int rank) const { return {rank / tp, spp, rank % tp, tp}; }

  // Of "spp=2,tp=2"; what is not named is 1. kInvalidArgument, naming what was found and expected.
  static Result<RankLayout> parse(std::string_view text);
};

// The ranks of a run, as one of them sees them.
struct Ranks {
  Comm* comm = nullptr;  // null: this process alone has the model
  RankLayout layout;
};

}  // namespace pando::exec
