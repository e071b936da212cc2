// Work of attention that a step has in each part of the positions.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/rank_shape.h"
#include "schedule/step_features.h"

namespace pando {

// All parts attend at the same time, so a step takes as long as its busiest part. Does nothing if
// there is one part.
class PartLoads {
 public:
  explicit PartLoads(const RankShape& ranks)
      : ranks_(&ranks), loads_(ranks.n_parts > 1 ? ranks.n_parts : 0) {}

  // Rows [begin, begin + n) of a path that begins in part `first`.
  void add_rows(uint32_t first, uint32_t begin, uint32_t n);
  // Cached positions [begin, begin + n) of such a path.
  void add_reads(uint32_t first, uint32_t begin, uint32_t n);
  PartLoads& operator+=(const PartLoads& other);

  // The features of the step, given its sums over all parts.
  StepFeatures of_busiest(StepFeatures sums) const;

 private:
  struct Load {
    double keys = 0, reads = 0;
    double rows = 0;  // rows with all their keys in this part
  };
  template <class Use>
  void for_blocks(uint32_t first, uint32_t begin, uint32_t end, const Use& use);

  const RankShape* ranks_;
  std::vector<Load> loads_;  // [n_parts], or empty
  double moved_ = 0;         // StepFeatures
};

// Features of rows [begin, begin + n) of one path, without outputs.
StepFeatures chunk_features(const RankShape& ranks, uint32_t begin, uint32_t n);

}  // namespace pando
