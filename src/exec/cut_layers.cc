#include "exec/cut_layers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace pando::exec {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();

struct Cut {
  double cost;            // of all stages, joined
  std::vector<int> ends;  // [n_stages + 1] indices into the bounds
};

// The cut with the smallest cost among those with stages of at most `limit`. cost(stage, begin,
// end): cost of one stage between two of n_bounds bounds. join(sum, cost): cost of the stages
// before and one more, never less than sum.
template <class Cost, class Join>
Cut best_cut(size_t n_stages, size_t n_bounds, double limit, const Cost& cost, const Join& join) {
  std::vector best(n_stages + 1, std::vector<double>(n_bounds, kImpossible));  // [stages, end]
  std::vector begins(n_stages + 1, std::vector<size_t>(n_bounds, 0));
  best[0][0] = 0;
  for (size_t stage = 0; stage < n_stages; ++stage)
    for (size_t end = stage + 1; end < n_bounds; ++end)
      for (size_t begin = stage; begin < end; ++begin) {
        const double own = cost(stage, begin, end);
        if (own > limit || best[stage][begin] == kImpossible) continue;
        const double all = join(best[stage][begin], own);
        if (all >= best[stage + 1][end]) continue;
        best[stage + 1][end] = all;
        begins[stage + 1][end] = begin;
      }
  Cut cut{best[n_stages][n_bounds - 1], std::vector<int>(n_stages + 1)};
  size_t end = n_bounds - 1;
  for (size_t stage = n_stages; stage > 0; --stage) {
    cut.ends[stage] = static_cast<int>(end);
    end = begins[stage][end];
  }
  return cut;
}

// [n + 1] the sum of the values before each
std::vector<double> sums_of(std::span<const double> values) {
  std::vector<double> sums = {0};
  for (const double value : values) sums.push_back(sums.back() + value);
  return sums;
}

}  // namespace

std::vector<int> cut_layers(std::span<const double> costs, std::span<const int> firsts,
                            std::span<const double> more, const std::optional<StageBound>& bound) {
  PANDO_CHECK(!firsts.empty() && firsts[0] == 0 && firsts.size() >= more.size());
  std::vector<int> bounds(firsts.begin(), firsts.end());
  bounds.push_back(static_cast<int>(costs.size()));
  const std::vector<double> before = sums_of(costs);
  const std::vector<double> before_in_bound = sums_of(bound ? bound->sizes : costs);
  const auto cost = [&](size_t stage, size_t begin, size_t end) {
    const int first = bounds[begin], last = bounds[end];
    if (bound && before_in_bound[last] - before_in_bound[first] + bound->more[stage] > bound->most)
      return kImpossible;
    return before[last] - before[first] + more[stage];
  };
  const double slowest =
      best_cut(more.size(), bounds.size(), kImpossible, cost, [](double sum, double own) {
        return std::max(sum, own);
      }).cost;
  PANDO_CHECK(slowest < kImpossible);
  std::vector<int> cut =
      best_cut(more.size(), bounds.size(), slowest, cost, [](double sum, double own) {
        return sum + own * own;
      }).ends;
  for (int& end : cut) end = bounds[end];
  return cut;
}

double slowest_stage(std::span<const double> costs, std::span<const int> cut,
                     std::span<const double> more) {
  double slowest = 0;
  for (size_t stage = 0; stage < more.size(); ++stage)
    slowest = std::max(slowest, std::accumulate(costs.begin() + cut[stage],
                                                costs.begin() + cut[stage + 1], more[stage]));
  return slowest;
}

}  // namespace pando::exec
