#include "lab/papers/serve_figures.h"

#include <algorithm>
#include <limits>

#include "base/statistics.h"

namespace pando::lab {
namespace {

struct Interval {
  double begin, end;
};

Percentiles percentiles(const std::vector<double>& values) {
  return {quantile(values, 0.5), quantile(values, 0.9), quantile(values, 0.99)};
}

double share(size_t part, size_t all) {
  return all == 0 ? std::numeric_limits<double>::quiet_NaN()
                  : static_cast<double>(part) / static_cast<double>(all);
}

double first_token_or_end(const ServedWindow& window, size_t i) {
  const std::vector<double>& tokens = window.outcomes[i].tokens;
  return tokens.empty() ? window.span.end : tokens[0];
}

// When a long prompt was waited for.
std::vector<Interval> long_prefills(const ServedWindow& window) {
  std::vector<Interval> intervals;
  for (size_t i = 0; i < window.requests.size(); ++i)
    if (window.requests[i].is_long)
      intervals.push_back({window.requests[i].arrival, first_token_or_end(window, i)});
  return intervals;
}

// Windows count these.
struct Counts {
  std::vector<double> ttft[2];  // of short ones, of long ones
  std::vector<double> gaps, gaps_beside_long, tpot_beside_long;
  size_t n[2] = {}, n_met[2] = {}, n_whole = 0, n_waiting = 0;
  double seconds = 0;

  void add(const ServedWindow& window) {
    const Span& span = window.span;
    seconds += span.seconds - span.from;
    const std::vector<Interval> prefills = long_prefills(window);
    for (size_t i = 0; i < window.requests.size(); ++i) {
      const ServedRequest& request = window.requests[i];
      const Outcome& outcome = window.outcomes[i];
      n_whole += outcome.tokens.size() >= request.n_answer && outcome.tokens.back() > span.from &&
                 outcome.tokens.back() <= span.seconds;
      if (request.arrival < span.from) continue;
      ttft[request.is_long].push_back(first_token_or_end(window, i) - request.arrival);
      n_waiting += outcome.tokens.empty();
      ++n[request.is_long];
      n_met[request.is_long] += met_deadlines(request, outcome);
      std::vector<double> tokens = outcome.tokens;
      if (!tokens.empty() && tokens.size() < request.n_answer)
        tokens.push_back(span.end);  // cut off: the next one would have come then at the soonest
      add_gaps(tokens, prefills);
    }
  }

  // True where a long prompt was waited for.
  bool add_gap(double begin, double end, const std::vector<Interval>& prefills) {
    gaps.push_back(end - begin);
    const bool is_beside_long = std::ranges::any_of(prefills, [&](const Interval& prefill) {
      return prefill.begin < end && begin < prefill.end;
    });
    if (is_beside_long) gaps_beside_long.push_back(end - begin);
    return is_beside_long;
  }

  void add_gaps(const std::vector<double>& tokens, const std::vector<Interval>& prefills) {
    bool is_beside_long = false;
    for (size_t k = 1; k < tokens.size(); ++k)
      is_beside_long |= add_gap(tokens[k - 1], tokens[k], prefills);
    if (is_beside_long)
      tpot_beside_long.push_back((tokens.back() - tokens[0]) /
                                 (static_cast<double>(tokens.size()) - 1));
  }
};

}  // namespace

bool met_deadlines(const ServedRequest& request, const Outcome& outcome) {
  const std::vector<double>& tokens = outcome.tokens;
  if (tokens.size() < request.n_answer) return false;
  const double n_gaps = request.n_answer - 1.0;
  return tokens[0] - request.arrival <= request.deadlines.ttft_slo &&
         tokens.back() - tokens[0] <= n_gaps * request.deadlines.tpot_slo;
}

ServeFigures figures_of(std::span<const ServedWindow> windows) {
  Counts counts;
  for (const ServedWindow& window : windows) counts.add(window);
  return {.short_ttft = percentiles(counts.ttft[0]),
          .long_ttft = percentiles(counts.ttft[1]),
          .gap = percentiles(counts.gaps),
          .gap_beside_long = percentiles(counts.gaps_beside_long),
          .tpot_beside_long = percentiles(counts.tpot_beside_long),
          .answers_per_second = static_cast<double>(counts.n_whole) / counts.seconds,
          .short_met = share(counts.n_met[0], counts.n[0]),
          .long_met = share(counts.n_met[1], counts.n[1]),
          .goodput = static_cast<double>(counts.n_met[0] + counts.n_met[1]) / counts.seconds,
          .n_requests = counts.n[0] + counts.n[1],
          .n_long = counts.n[1],
          .n_waiting = counts.n_waiting};
}

}  // namespace pando::lab
