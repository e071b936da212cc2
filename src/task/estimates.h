// Estimates from scores of samples: means with standard errors, pass@k, the answer of a majority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace pando {

// A mean and its standard error; 0 where it cannot be estimated.
struct Estimate {
  uint64_t n = 0;  // scores
  double mean = 0;
  double standard_error = 0;
};

// Scores of questions as they come. Memory grows with the number of clusters.
class MeanOf {
 public:
  void add(double score, const std::string& cluster = {});

  // The standard error is sqrt(sample variance / n). With clusters it is
  // sqrt(sum over clusters of (sum of score - mean)^2) / n (Miller 2024, equation 4); 0 for fewer
  // than two scores or, with clusters, two clusters.
  Estimate estimate() const;

 private:
  struct Sums {
    uint64_t n = 0;
    double sum = 0;
  };
  uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0;  // the latter about the mean (Welford)
  std::map<std::string, Sums> clusters_;
};

// pass@k of Chen et al. 2021: the probability that one of k answers, drawn without replacement from
// n of which n_right are right, is right. Needs 1 <= k <= n and n_right <= n.
double pass_at_k(uint64_t n, uint64_t n_right, uint64_t k);

// The index of the first of the keys that appear most often; needs one key.
size_t majority(std::span<const std::string> keys);

}  // namespace pando
