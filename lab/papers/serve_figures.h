// Figures say what became of requests, and what that says of a server.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "lab/papers/serve_workload.h"

namespace pando::lab {

struct Outcome {
  std::vector<double> tokens;  // when each came, seconds since the window began
};

// When requests came, and until when it was seen what became of them. Seconds since it began.
struct Span {
  double from = 0;     // requests before this do not count: there was no queue yet
  double seconds = 0;  // requests came until then
  double end = 0;
};

struct ServedWindow {
  Span span;
  std::vector<ServedRequest> requests;
  std::vector<Outcome> outcomes;  // [requests]
};

// The first token, and the mean time from one token to the next, came in time. What has no last
// token by the end of the window has not met its deadlines.
bool met_deadlines(const ServedRequest& request, const Outcome& outcome);

struct Percentiles {
  double p50, p90, p99;
};

// Counts windows, all their requests taken together. Seconds; shares from 0 to 1; not a number
// where there is nothing to count.
struct ServeFigures {
  // To the first token. One that had none at the end of its window waited at least until then, and
  // counts with that.
  Percentiles short_ttft, long_ttft;
  // From one token to the next, of all answers; to one that was cut off another token is taken to
  // come at the end.
  Percentiles gap;
  Percentiles gap_beside_long;  // of these, while a long prompt waited for its first token
  // An answer's mean time from one token to the next, of those with a gap beside a long prompt.
  Percentiles tpot_beside_long;
  double answers_per_second;             // that were whole before requests ended
  double short_met, long_met;            // share of requests that met their deadlines
  double goodput;                        // such requests, for each second of those that count
  size_t n_requests, n_long, n_waiting;  // n_waiting: without a first token at the end
};
ServeFigures figures_of(std::span<const ServedWindow> windows);
inline ServeFigures figures_of(const ServedWindow& window) { return figures_of({&window, 1}); }

}  // namespace pando::lab
