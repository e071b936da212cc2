#include "task/estimates.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace pando {

void MeanOf::add(double score, const std::string& cluster) {
  ++n_;
  const double before = score - mean_;
  mean_ += before / static_cast<double>(n_);
  squares_ += before * (score - mean_);
  if (cluster.empty()) return;
  Sums& sums = clusters_[cluster];
  ++sums.n;
  sums.sum += score;
}

Estimate MeanOf::estimate() const {
  Estimate estimate{.n = n_, .mean = mean_};
  const auto n = static_cast<double>(n_);
  if (clusters_.empty()) {
    if (n_ > 1) estimate.standard_error = std::sqrt(squares_ / (n - 1) / n);
    return estimate;
  }
  if (clusters_.size() < 2) return estimate;
  double squares = 0;
  for (const auto& [name, sums] : clusters_) {
    const double apart = sums.sum - static_cast<double>(sums.n) * mean_;
    squares += apart * apart;
  }
  estimate.standard_error = std::sqrt(squares) / n;
  return estimate;
}

double pass_at_k(uint64_t n, uint64_t n_right, uint64_t k) {
  if (n - n_right < k) return 1;
  double all_wrong = 1;
  for (uint64_t i = n - n_right + 1; i <= n; ++i)
    all_wrong *= 1 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

size_t majority(std::span<const std::string> keys) {
  std::unordered_map<std::string, size_t> counts;
  size_t most = 0;
  for (const std::string& key : keys) most = std::max(most, ++counts[key]);
  const auto found =
      std::ranges::find_if(keys, [&](const std::string& key) { return counts[key] == most; });
  return static_cast<size_t>(found - keys.begin());
}

}  // namespace pando
