// Layout of a model over ranks, the processes of a run.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/share.h"
#include "pando/values/result.h"

namespace pando {

// Order of ranks: by replica, then by stage, then by part of the positions. The rank in the whole
// run is replica * n_ranks() + (stage * kvp + part) * tp + rank in the part. Ranks here are counted
// within their replica.
struct RankLayout {
  int replicas = 1;  // of the whole model
  int spp = 1;       // stages of layers
  int kvp = 1;       // parts of the positions of each path, and of the rows of each step
  int tp = 1;        // ranks that divide the outputs of each matrix
  // Positions of a block. A path's blocks go from part to part. Whole spans, a power of two of
  // them.
  uint32_t kvp_tokens = 8192;
  // Rows that flow through the stages together: enough to keep products efficient, few enough for
  // several slices in a step.
  uint32_t slice_rows = 128;

  // Rows that are divided evenly over parts are at least this many for each: a product of fewer
  // rows takes as long.
  uint32_t rows_each = 16;

  // divide_model (ranks.h) sets both. Until then stages have about equal products, and rank 0 has
  // the LM head.
  std::vector<int> cut;              // [spp + 1] layers before each stage, then all layers
  std::optional<bool> divides_head;  // over the ranks of the last stage

  int64_t n_processes() const { return int64_t{replicas} * spp * kvp * tp; }
  int n_ranks() const { return spp * kvp * tp; }  // of a replica
  std::string name() const { return fmt::format("spp={},kvp={},tp={}", spp, kvp, tp); }
  int part_of(int rank) const { return rank / tp % kvp; }
  ModelShare share_of(int rank) const {
    const int stage = rank / (tp * kvp);
    return {.stage = stage,
            .n_stages = spp,
            .rank = rank % tp,
            .n_ranks = tp,
            .copy = part_of(rank),
            .first_layer = cut.empty() ? 0 : cut[stage],
            .end_layer = cut.empty() ? 0 : cut[stage + 1],
            .divides_head = divides_head.value_or(false)};
  }

  // Parses "replicas=2,spp=2,kvp=2,tp=2,kvp_tokens=16384"; names left out keep the defaults above.
  // Errors: kInvalidArgument, with the value found and the one expected.
  static Result<RankLayout> parse(std::string_view text);
};

}  // namespace pando
