#include "reference/reference_matrix.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/half.h"
#include "reference/reference_fma.h"

namespace pando::reference {

using Floats = std::vector<float>;

Matrix::Matrix(const Floats& w, int n, int k, std::optional<DType> made)
    : n_(n), k_(k), rounds_(made == DType::kBF16Dot) {
  if (!made || rounds_) {
    blocks_.resize(static_cast<size_t>(n + kBlock - 1) / kBlock * kBlock * k);
    for (int row = 0; row < n; ++row)
      for (int i = 0; i < k; ++i)
        blocks_[(size_t(row / kBlock) * k + i) * kBlock + row % kBlock] =
            rounds_ ? rounded_for_dot(w[size_t(row) * k + (i ^ 1)]) : w[size_t(row) * k + i];
    return;
  }
  group_len_ = *made == DType::kI8 ? k : 32;
  const int n_groups = (k + group_len_ - 1) / group_len_;
  for (size_t group = 0; group < size_t(n) * n_groups; ++group) {
    const int begin = static_cast<int>(group % n_groups) * group_len_;
    const int len = std::min(group_len_, k - begin);
    add_group(quantise(&w[group / n_groups * k + begin], len, *made));
  }
}

Matrix::Matrix(const std::vector<Quantised>& groups, int n, int k) : n_(n), k_(k), group_len_(32) {
  for (const Quantised& group : groups) {
    add_group(group);
    minima_.push_back(group.minimum);
  }
}

void Matrix::add_group(const Quantised& group) {
  quantised_.insert(quantised_.end(), group.q.begin(), group.q.end());
  quantised_.resize((scales_.size() + 1) * group_len_);
  scales_.push_back(group.scale);
  factors_.insert(factors_.end(), group.factors, group.factors + 2);
}

void Matrix::times_integers(const float* x, float* y) const {
  const int n_groups = (k_ + group_len_ - 1) / group_len_;
  std::vector<Quantised> groups;
  Floats sums;  // of each group's activations
  for (int i = 0; i < k_; i += group_len_) {
    groups.push_back(quantise_by_amax(x + i, std::min(group_len_, k_ - i)));
    const std::vector<int8_t>& q = groups.back().q;
    sums.push_back(groups.back().scale *
                   static_cast<float>(std::accumulate(q.begin(), q.end(), 0)));
  }
  for (int row = 0; row < n_; ++row) {
    float acc = 0.0f;
    for (int g = 0; g < n_groups; ++g) {
      const int8_t* w = &quantised_[(size_t(row) * n_groups + g) * group_len_];
      const std::vector<int8_t>& q = groups[g].q;
      const size_t at = size_t(row) * n_groups + g;
      const float sum = group_len_ == 32
                            ? sum_of_products(q.data(), w, q.size(), &factors_[2 * at])
                            : static_cast<float>(std::inner_product(q.begin(), q.end(), w, 0));
      acc = std::fma(sum, groups[g].scale * scales_[at], acc);
      if (!minima_.empty()) acc = std::fma(sums[g], -minima_[at], acc);
    }
    y[row] = acc;
  }
}

Floats Matrix::times(const Floats& x, int n_rows) const {
  Floats y(size_t(n_rows) * n_);
  for (int m = 0; m < n_rows && blocks_.empty(); ++m)
    times_integers(&x[size_t(m) * k_], &y[size_t(m) * n_]);
  Floats rounded;
  for (size_t i = 0; i < x.size() && rounds_; ++i) rounded.push_back(rounded_for_dot(x[i ^ 1]));
  const Floats& inputs = rounds_ ? rounded : x;
  for (int first = 0; first < n_ && !blocks_.empty(); first += kBlock) {
    for (int m = 0; m < n_rows; ++m) {
      float acc[kBlock] = {};
      fma_rows(&inputs[size_t(m) * k_], k_, &blocks_[size_t(first) * k_], kBlock, kBlock, acc);
      std::copy_n(acc, std::min(kBlock, n_ - first), &y[size_t(m) * n_ + first]);
    }
  }
  return y;
}

}  // namespace pando::reference
