// Cost of the fixed order of sums: the engine's kernels beside ones that may add in any order. Sums
// of integers (int8 weights, int8 keys) have no order, so nothing could be gained there.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/numbers/weight_types.h"
#include "bench/cpu/attention_work.h"
#include "bench/cpu/kernel_peaks.h"
#include "bench/cpu/kernel_rates.h"
#include "bench/registry.h"
#include "bench/timing.h"
#include "exec/cpu/kernel/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pando::bench {
namespace {

double seconds_each_way(const Harness& harness) { return harness.choose(0.02, 0.6, 1.0); }

// Every thread multiplies a part of the inputs with all outputs; the parts are added.
class SplitProduct {
 public:
  // n_bytes: bytes of the copies of all parts together.
  SplitProduct(DType type, int n, int k, int n_parts, size_t n_bytes) : n_(n) {
    for (int i = 0; i < n_parts; ++i) {
      parts_.push_back(std::make_unique<ProductWork>(type, n, k / n_parts, n_bytes / n_parts));
      pools_.push_back(std::make_unique<ThreadPool>(1));
    }
  }
  void run(ThreadPool& pool, int m) {
    pool.parallel_for(static_cast<int64_t>(parts_.size()), [&](int64_t part, int) {
      parts_[static_cast<size_t>(part)]->run(*pools_[static_cast<size_t>(part)], m);
    });
    pool.parallel_for(m, [&](int64_t row, int) {
      for (size_t i = 1; i < parts_.size(); ++i)
        used_kernels().add(parts_[0]->y() + row * n_, parts_[i]->y() + row * n_, n_);
    });
  }

 private:
  int n_;
  std::vector<std::unique_ptr<ProductWork>> parts_;
  std::vector<std::unique_ptr<ThreadPool>> pools_;
};

#if defined(__x86_64__)
// GCC 12 calls the operand of the unmasked forms uninitialised.
// x . w in four chains of sixteen lanes each; w: [k] bf16, x: [k] f32, k a multiple of 64.
__attribute__((target("avx512f"))) float free_dot(const uint16_t* w, const float* x, int k) {
  __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                   _mm512_setzero_ps()};
  for (int i = 0; i < k; i += 64)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const auto* halves = reinterpret_cast<const __m256i*>(w + i + 16 * j);
      const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(halves));
      sum[j] = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, wide, 16)),
                               _mm512_loadu_ps(x + i + 16 * j), sum[j]);
    }
  const __m512 all = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
  float lanes[16];
  _mm512_storeu_ps(lanes, all);
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}
#endif

// One row of inputs as inner products along rows of bf16 weights, which come from memory.
class FreeDots {
 public:
  FreeDots(int n, int k, size_t n_bytes)
      : n_(n), k_(k), n_copies_(n_bytes / (size_t{2} * n * k) + 1) {
    const size_t n_weights = n_copies_ * static_cast<size_t>(n) * static_cast<size_t>(k);
    weights_ = AlignedBuffer::beside_others(n_weights * sizeof(uint16_t));
    std::fill_n(weights_.as<uint16_t>(), n_weights, uint16_t{0x3d80});
    x_.assign(static_cast<size_t>(k), 0.5f);
    y_.resize(static_cast<size_t>(n));
  }
  static bool is_there() { return used_kernels().isa >= kernel::Isa::kAvx512; }
  void run(ThreadPool& pool) {
    constexpr int kRows = 64;
    const uint16_t* w =
        weights_.as<uint16_t>() + next_ * static_cast<size_t>(n_) * static_cast<size_t>(k_);
    pool.parallel_for((n_ + kRows - 1) / kRows, [&](int64_t item, int) {
      for (int64_t row = item * kRows; row < std::min<int64_t>(n_, (item + 1) * kRows); ++row)
        y_[static_cast<size_t>(row)] = dot(w + row * k_);
    });
    next_ = (next_ + 1) % n_copies_;
  }

 private:
  float dot(const uint16_t* w) const {
#if defined(__x86_64__)
    return free_dot(w, x_.data(), k_);
#else
    return static_cast<float>(*w);
#endif
  }

  int n_, k_;
  size_t n_copies_, next_ = 0;
  AlignedBuffer weights_;  // [copies, n, k] bf16, in huge pages as ours
  std::vector<float> x_, y_;
};

struct Variant {
  std::string name;
  std::function<void()> run;
};

// A row: ours, which comes first, and the fastest of the others.
void add_row(const Harness& harness, Table& table, const std::string& what,
             const std::vector<Variant>& variants) {
  std::vector<std::function<void()>> calls;
  for (const Variant& variant : variants) calls.push_back(variant.run);
  const auto times = times_in_turn(seconds_each_way(harness), calls);
  size_t best = 1;
  for (size_t i = 2; i < times.size(); ++i)
    if (median(times[i]) < median(times[best])) best = i;
  table.add({what, number(1e6 * median(times[0])), variants[best].name,
             number(1e6 * median(times[best])),
             number(100 * (times_faster(times[best], times[0]) - 1))});
}

void add_products(const Harness& harness, Table& table, ThreadPool& pool) {
  const size_t n_bytes = harness.cold_bytes();
  struct Shape {
    int n, k;
  };
  const auto shapes = harness.choose<std::vector<Shape>>(
      {{768, 512}}, {{1024, 3072}, {3072, 1024}}, {{1024, 3072}, {3072, 1024}, {4096, 4096}});
  for (const auto [n, k] : shapes) {
    for (const DType type : {DType::kF32, DType::kBF16, DType::kQ8_0}) {
      ProductWork ours(type, n, k, n_bytes);
      std::vector<std::unique_ptr<SplitProduct>> splits;
      std::vector<int> n_parts = {2};
      if (harness.threads() > 2 && k / harness.threads() % 32 == 0)
        n_parts.push_back(harness.threads());
      for (const int parts : n_parts)
        splits.push_back(std::make_unique<SplitProduct>(type, n, k, parts, n_bytes));
      std::unique_ptr<FreeDots> dots;
      if (type == DType::kBF16 && FreeDots::is_there())
        dots = std::make_unique<FreeDots>(n, k, n_bytes);
      for (const int m : harness.choose<std::vector<int>>({1, 8}, {1, 4, 16, 128},
                                                          {1, 2, 4, 8, 16, 32, 64, 128, 256})) {
        std::vector<Variant> variants = {{"", [&] { ours.run(pool, m); }}};
        for (size_t i = 0; i < splits.size(); ++i)
          variants.push_back({fmt::format("{} sums over K", n_parts[i]),
                              [&pool, m, split = splits[i].get()] { split->run(pool, m); }});
        if (dots && m == 1)
          variants.push_back({"inner products along K", [&] { dots->run(pool); }});
        add_row(harness, table,
                fmt::format("product, {}, {} x {}, {} rows", dtype_name(type), n, k, m), variants);
      }
    }
  }
}

void add_attention(const Harness& harness, Table& table, ThreadPool& pool) {
  struct Lengths {
    int tile, span;
  };
  constexpr Lengths kFree[] = {{64, 256}, {64, 1024}, {64, 1 << 20}, {128, 1024}, {256, 1 << 20}};
  for (const int heads : {1, 8}) {
    for (const int n_keys : harness.choose<std::vector<int>>({500}, {500, 2000, 16384},
                                                             {250, 500, 1000, 2000, 4096, 16384})) {
      for (const int rows :
           harness.choose<std::vector<int>>({1}, {1, 16, 128}, {1, 4, 16, 64, 128})) {
        AttentionCase shape{.batch = rows, .prefix = n_keys, .n_heads = heads, .n_kv_heads = heads};
        std::vector<std::unique_ptr<AttentionWork>> works;
        works.push_back(std::make_unique<AttentionWork>(shape, harness.cold_bytes()));
        std::vector<Variant> variants;
        for (const auto [tile, span] : kFree) {
          shape.tile_len = tile;
          shape.span_len = span;
          works.push_back(std::make_unique<AttentionWork>(shape, harness.cold_bytes()));
        }
        for (size_t i = 0; i < works.size(); ++i)
          variants.push_back({i == 0 ? ""
                                     : fmt::format("tiles of {}, spans of {}", kFree[i - 1].tile,
                                                   kFree[i - 1].span),
                              [&pool, work = works[i].get()] { work->shared(pool); }});
        add_row(harness, table,
                fmt::format("attention, f16, {} KV heads, {} keys, {} rows", heads, n_keys, rows),
                variants);
      }
    }
  }
}

void run_exactness_cost(Harness& harness) {
  ThreadPool pool(harness.threads());
  Table table{
      .title = fmt::format("What fixed order costs, {} threads, {}", harness.threads(),
                           used_kernels().name),
      .columns = {"what", "fixed, us", "the fastest in free order", "us", "cost %"},
      .notes = {"Weights come from memory, keys and values as from 64 layers at most. All take "
                "turns; the cost is the "
                "median of paired ratios. The fastest is chosen among several, case by "
                "case, by the same times: noise alone makes the cost positive.",
                "Sums in free order: a part of the inputs for each thread; inner products "
                "along rows of weights; tiles and spans of attention of any length, so "
                "that a path can be cut anywhere. int8 sums are of integers, which have "
                "no order."}};
  add_products(harness, table, pool);
  add_attention(harness, table, pool);
  harness.show(table, {.columns = {"cost %"}});
}

}  // namespace

std::vector<Benchmark> exactness_benchmarks() {
  return {
      {{"exactness-cost", "kernels beside ones that may add in any order"}, run_exactness_cost}};
}

}  // namespace pando::bench
