#include "schedule/least_squares.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace pando {
namespace {

// Normal equations of the columns scaled to length 1.
struct Normal {
  size_t n;
  std::vector<double> gram, target, scale;  // [n, n], [n], [n]
  double b_length = 0;

  Normal(std::span<const double> a, std::span<const double> b, size_t n_columns)
      : n(n_columns), gram(n * n), target(n), scale(n) {
    for (size_t row = 0; row < b.size(); ++row)
      for (size_t i = 0; i < n; ++i) scale[i] += a[row * n + i] * a[row * n + i];
    for (double& s : scale) s = s > 0 ? 1 / std::sqrt(s) : 0;
    for (size_t row = 0; row < b.size(); ++row)
      for (size_t i = 0; i < n; ++i) {
        const double value = a[row * n + i] * scale[i];
        target[i] += value * b[row];
        for (size_t j = 0; j < n; ++j) gram[i * n + j] += value * a[row * n + j] * scale[j];
      }
    for (const double value : b) b_length += value * value;
    b_length = std::sqrt(b_length);
  }

  // The solution with the columns of `use` alone, by Cholesky; the others are 0. A column that the
  // ones before it make up gets 0 too.
  std::vector<double> solve(const std::vector<bool>& use) const {
    std::vector<size_t> columns;
    for (size_t i = 0; i < n; ++i)
      if (use[i]) columns.push_back(i);
    const size_t m = columns.size();
    std::vector<double> lower(m * m), y(m), x(n);
    for (size_t i = 0; i < m; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = gram[columns[i] * n + columns[j]];
        for (size_t k = 0; k < j; ++k) sum -= lower[i * m + k] * lower[j * m + k];
        if (i == j) {
          lower[i * m + i] = sum > 1e-12 ? std::sqrt(sum) : INFINITY;
        } else {
          lower[i * m + j] = std::isinf(lower[j * m + j]) ? 0 : sum / lower[j * m + j];
        }
      }
      double sum = target[columns[i]];
      for (size_t k = 0; k < i; ++k) sum -= lower[i * m + k] * y[k];
      y[i] = sum / lower[i * m + i];
    }
    for (size_t i = m; i-- > 0;) {
      double sum = y[i];
      for (size_t k = i + 1; k < m; ++k)
        sum -= std::isinf(lower[i * m + i]) ? 0 : lower[k * m + i] * x[columns[k]];
      x[columns[i]] = sum / lower[i * m + i];
    }
    return x;
  }
};

}  // namespace

std::vector<double> non_negative_least_squares(std::span<const double> a, std::span<const double> b,
                                               size_t n_columns) {
  PANDO_CHECK(!b.empty() && a.size() == b.size() * n_columns);
  const Normal normal(a, b, n_columns);
  std::vector<bool> use(n_columns), refused(n_columns);
  std::vector<double> x(n_columns);
  for (size_t round = 0; round < 10 * n_columns; ++round) {  // rounding must not make it cycle
    // The column by which the error falls most.
    size_t best = n_columns;
    double steepest = 1e-10 * normal.b_length;
    for (size_t i = 0; i < n_columns; ++i) {
      if (use[i] || refused[i]) continue;
      double slope = normal.target[i];
      for (size_t j = 0; j < n_columns; ++j) slope -= normal.gram[i * n_columns + j] * x[j];
      if (slope > steepest) {
        steepest = slope;
        best = i;
      }
    }
    if (best == n_columns) break;
    use[best] = true;
    std::vector<double> next = normal.solve(use);
    if (next[best] <= 0) {  // by rounding only
      use[best] = false;
      refused[best] = true;
      continue;
    }
    // Moves towards the solution until a coefficient reaches 0, drops it, and repeats.
    for (;;) {
      double part = 1;
      for (size_t i = 0; i < n_columns; ++i)
        if (use[i] && next[i] <= 0) part = std::min(part, x[i] / (x[i] - next[i]));
      for (size_t i = 0; i < n_columns; ++i) {
        if (!use[i]) continue;
        const bool leaves = next[i] <= 0 && x[i] / (x[i] - next[i]) <= part;
        x[i] += part * (next[i] - x[i]);
        if (leaves) {
          x[i] = 0;
          use[i] = false;
        }
      }
      if (part == 1) break;
      next = normal.solve(use);
    }
    refused.assign(n_columns, false);
    refused[best] = !use[best];
  }
  for (size_t i = 0; i < n_columns; ++i) x[i] *= normal.scale[i];
  return x;
}

}  // namespace pando
