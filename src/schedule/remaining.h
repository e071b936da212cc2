// Seconds that the rest of a prefill takes. Medha, algorithm 3.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/predictor.h"

namespace pando {

// Times of whole prefills, alone, in chunks that fill a budget, at every kGrain tokens. Chunk after
// chunk is simulated once for the longest; shorter ones end inside one of its chunks. As many
// chunks are in flight as allowed.
class RemainingTable {
 public:
  static constexpr uint32_t kGrain = 64;

  // longest: tokens. step_budget: seconds, may be infinite. n_rows: most rows of a step.
  RemainingTable(const Predictor& predictor, double step_budget, uint32_t longest, uint32_t n_rows);

  // From n_done tokens to n_total, n_done <= n_total <= longest; above 0, since a prompt that is
  // all cached still takes a step. As fitted, for Predictor::corrected; the chunks are those of the
  // predictor when the table was made.
  StepTime time(uint32_t n_total, uint32_t n_done) const;
  double seconds(uint32_t n_total, uint32_t n_done) const { return time(n_total, n_done).sum(); }

 private:
  StepTime whole(uint32_t n_tokens) const;

  StepTime flow_out(uint32_t n_total, uint32_t n_done) const;

  Predictor predictor_;          // without corrections
  StepTime least_;               // of a step of one row
  std::vector<StepTime> whole_;  // of the first i * kGrain tokens
};

// The most rows, up to n_most, that take no longer than `budget` as a chunk after n_done tokens.
uint32_t longest_chunk(const Predictor& predictor, double budget, uint32_t n_done, uint32_t n_most);

}  // namespace pando
