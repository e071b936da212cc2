#include "bench/cpu/kernel_rates.h"

#include <algorithm>
#include <random>

#include "base/numbers/weight_types.h"
#include "bench/cpu/kernel_peaks.h"
#include "bench/timing.h"
#include "engine/options.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::bench {
namespace {

double seconds_each_rate(const Harness& harness) { return harness.choose(0.01, 0.3, 1.0); }

}  // namespace

ProductWork::ProductWork(DType type, int n, int k, size_t n_bytes) : n_(n), k_(k) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  constexpr int kRows = 48;
  std::vector<float> rows(static_cast<size_t>(kRows) * static_cast<size_t>(k));
  for (float& x : rows) x = normal(random);
  // About 1/16 in f16, small in bf16, ordinary scales and any integers in blocks.
  const std::vector<uint16_t> halves(rows.size(), 0x2c2c);
  const bool is_stored = type != DType::kF32 && !info_of(type).made_as;  // else made of f32
  do {
    copies_.emplace_back(type, n, k);
    for (int row = 0; row < n; row += kRows)
      copies_.back().set_rows(used_kernels(), row, std::min(kRows, n - row),
                              is_stored ? type : DType::kF32,
                              is_stored ? static_cast<const void*>(halves.data()) : rows.data());
  } while (copies_.size() * bytes() < n_bytes);
}

void ProductWork::run(ThreadPool& pool, int m) {
  const auto n_x = static_cast<size_t>(m) * static_cast<size_t>(k_);
  if (x_.size() < n_x) {
    std::minstd_rand random(2);
    std::uniform_real_distribution<float> uniform(-1, 1);
    x_.resize(n_x);
    for (float& x : x_) x = uniform(random);
    y_.resize(static_cast<size_t>(m) * static_cast<size_t>(n_));
  }
  kernel::linear(used_kernels(), pool, copies_[next_], {x_.data(), k_, m, y_.data(), n_}, scratch_);
  next_ = (next_ + 1) % copies_.size();
}

double read_bandwidth(const Harness& harness) {
  ThreadPool pool(harness.threads());
  return read_peak(pool, harness.cold_bytes()).wall;
}

double own_read_rate(const Harness& harness, AttentionCase shape) {
  ThreadPool pool(harness.threads());
  AttentionWork work(shape, harness.cold_bytes());
  const double seconds =
      time_calls(seconds_each_rate(harness), [&] { work.per_sequence(pool); }).wall;
  shape.own_copies = true;  // counts the bytes once per sequence
  return shape.bytes() / seconds;
}

double attention_rate(const Harness& harness, int n_rows, int n_keys, int head_dim, int n_kv_heads,
                      KvType type) {
  ThreadPool pool(harness.threads());
  const AttentionCase shape{.type = kv_dtype(type),
                            .batch = n_rows,
                            .prefix = n_keys,
                            .n_heads = n_kv_heads,
                            .n_kv_heads = n_kv_heads,
                            .head_dim = head_dim};
  AttentionWork work(shape, harness.cold_bytes());
  return shape.flops() / time_calls(seconds_each_rate(harness), [&] { work.shared(pool); }).wall;
}

double product_rate(const Harness& harness, DType type, int m, int n, int k) {
  ThreadPool pool(harness.threads());
  ProductWork work(type, n, k, harness.cold_bytes());
  return 2.0 * m * n * k / time_calls(seconds_each_rate(harness), [&] { work.run(pool, m); }).wall;
}

}  // namespace pando::bench
