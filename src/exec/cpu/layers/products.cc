#include "exec/cpu/layers/products.h"

#include <algorithm>
#include <vector>

#include "base/fault.h"
#include "exec/cpu/layers/rows.h"
#include "exec/cpu/layers/stopwatch.h"

namespace pando::exec {

void Products::multiply(std::span<const std::span<const kernel::PackedMatrix>> w,
                        std::span<const int> group_ends, kernel::RowSource source, float* y,
                        int64_t y_stride) {
  if (w.empty()) return;
  Stopwatch watch;
  const std::span<const kernel::PackedMatrix> first = w[0];
  const int k = first[0].k(), m = group_ends.back();
  int64_t n = 0;
  bool alike = true;
  for (const kernel::PackedMatrix& matrix : first) {
    n += matrix.n();
    alike = alike && kernel::PackedRows::same_for(first[0].type(), matrix.type());
  }
  if (y_stride > 0) n = y_stride;
  const bool split = fault_on(Fault::kSplitSumOverK) && m >= 64 && w.size() == 1;
  const auto unpacked = [&](int row, float*) { return unpacked_.as<float>() + int64_t{row} * k; };
  if (!alike || split) {  // a source may be asked once
    unpacked_.reserve(size_t(m) * k * sizeof(float));
    for_rows(pool_, static_cast<uint32_t>(m), [&](uint32_t row) {
      float* to = unpacked(static_cast<int>(row), nullptr);
      const float* x = source(static_cast<int>(row), to);
      if (x != to) std::copy_n(x, k, to);
    });
  }
  for (size_t i = 0; i < first.size(); ++i) {
    const DType type = first[i].type();
    if (i == 0 || !kernel::PackedRows::same_for(packed_.weights(), type))
      packed_.pack(kernels_, pool_, type, group_ends, k, alike && !split ? source : unpacked);
    watch.lap(times_.row_ops_s);
    matrices_.clear();
    for (const std::span<const kernel::PackedMatrix> group : w) matrices_.push_back(&group[i]);
    kernel::multiply(kernels_, pool_, matrices_, packed_, y, n);
    if (split) multiply_halves(first[i], m, y, n);
    times_.linear_flops += 2.0 * m * first[i].n() * k;
    watch.lap(times_.linear_s);
    y += first[i].n();
  }
}

void Products::multiply_halves(const kernel::PackedMatrix& w, int m, float* y, int64_t y_stride) {
  const int64_t k = w.k(), n = w.n(), middle = k / 2;
  std::vector<float> low(m * k), high(m * k), sum(m * n);
  for (int64_t r = 0; r < m; ++r) {
    const float* x = unpacked_.as<float>() + r * k;
    std::copy(x, x + middle, &low[r * k]);
    std::copy(x + middle, x + k, &high[r * k + middle]);
  }
  kernel::PackedRows packed;
  kernel::linear(kernels_, pool_, w, {low.data(), k, m, y, y_stride}, packed);
  kernel::linear(kernels_, pool_, w, {high.data(), k, m, sum.data(), n}, packed);
  for (int64_t r = 0; r < m; ++r) kernels_.add(y + r * y_stride, &sum[r * n], w.n());
}

}  // namespace pando::exec
