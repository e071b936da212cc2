// How a model is spread over ranks.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "comm/comm.h"
#include "model/share.h"
#include "pando/result.h"

namespace pando::exec {

// Ranks of a replica are neighbours, and of these the ranks of one stage: of all ranks it is
// replica * n_ranks() + stage * tp + rank in the stage. What has a rank here counts in its replica.
struct RankLayout {
  int replicas = 1;  // of the whole model
  int spp = 1;       // stages of layers
  int tp = 1;        // ranks that divide the outputs of each matrix
  // Rows that flow through the stages together: enough to keep products efficient, few enough for
  // several slices in a step.
  uint32_t slice_rows = 128;

  int n_ranks() const { return spp * tp; }  // of a replica
  int64_t n_processes() const { return int64_t{replicas} * n_ranks(); }
  std::string name() const { return fmt::format("spp={},tp={}", spp, tp); }
  model::Share share_of(int rank) const { return {rank / tp, spp, rank % tp, tp}; }

  // Of "replicas=2,spp=2,tp=2"; what is not named is 1. kInvalidArgument, naming what was found and
  // expected.
  static Result<RankLayout> parse(std::string_view text);
};

// The ranks of a replica, as one of them sees them.
struct Ranks {
  Comm* comm = nullptr;  // null: this process alone has the model
  RankLayout layout;
};

}  // namespace pando::exec
