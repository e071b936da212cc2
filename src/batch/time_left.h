// How long the rest of a run may take.
#pragma once

#include <optional>

#include "pando/batch.h"

namespace pando {

// Counts what was submitted to the engine so far.
struct SubmittedWork {
  uint64_t answers = 0;       // without those that were dropped
  uint64_t most_tokens = 0;   // that these may have
  uint64_t answered = 0;      // of these; that is, completions
  uint64_t taken_back = 0;    // others, dropped at a stop, whose prompts count as arrived
  double share_of_input = 0;  // whose questions are submitted, in [0, 1]
};

// Seconds that a row of a prompt and one of an answer take, fitted to what a run computed between
// updates. A step with few rows of answers takes about as long as one with many of prompts, so one
// rate for both would be too short a time as long as most rows are of prompts.
class RowSeconds {
 public:
  void update(double seconds, uint64_t prefill_rows, uint64_t decode_rows);  // all since the start
  double prefill() const { return prefill_; }
  double decode() const { return decode_; }

 private:
  void fit();

  double seconds_ = 0;                     // of the last update with new rows
  uint64_t n_prefill_ = 0, n_decode_ = 0;  // then
  double pp_ = 0, pd_ = 0, dd_ = 0;        // sums of products of rows
  double pt_ = 0, dt_ = 0;                 // of rows and seconds
  double prefill_ = 0, decode_ = 0;
};

// The estimate that a run shows. Of a prompt it expects the tokens that were new when the prompt
// arrived. Of an answer it expects the tokens of all answers divided by the number of those that
// have ended, but at most as many as an answer may have. The rest of the input is expected to be
// like the part that was submitted. The shown time moves to a new estimate within some seconds, so
// that a single slow step does not show.
class TimeLeft {
 public:
  // To be called from time to time. Nothing until something is computed, and, except at a stop,
  // where the input's size is not known.
  std::optional<double> update(const BatchProgress& now, const SubmittedWork& submitted);

 private:
  RowSeconds row_seconds_;
  std::optional<double> shown_;  // at shown_at_
  double shown_at_ = 0;
  bool stopping_ = false;
};

}  // namespace pando
