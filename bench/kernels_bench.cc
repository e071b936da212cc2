// Matrix products as shares of what the machine can do, measured in the same run.
//
//   kernels_bench --benchmark_repetitions=11 --benchmark_report_aggregates_only=true
//
// Arguments: m / n / k / threads / copies of the weights. One copy stays in the caches; copies of
// at least 64 MB in all, used in turn, come from memory. Counters, by processor time: peak_share,
// of the multiply-adds of the type that the same threads do in registers just before; GMAC/s of one
// processor; GB/s, of weights, of all.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/linear.h"

namespace pando::kernel {
namespace {

// Of all threads: other work on the machine does not count, waiting for one another does.
double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// --- peaks: independent multiply-adds in registers ---------------------------------------------

constexpr int kPeakRounds = 20'000;
constexpr int kPeakChains = 16;

#if defined(__x86_64__)
// Multiplications done; the sixteen chains hide the latency.
__attribute__((target("avx512f"))) double fma_burst_avx512() {
  __m512 acc[kPeakChains];
#pragma GCC unroll 16
  for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_setzero_ps();
  const __m512 x = _mm512_set1_ps(0.5f);
  for (int round = 0; round < kPeakRounds; ++round)
#pragma GCC unroll 16
    for (int i = 0; i < kPeakChains; ++i) asm("vfmadd231ps %1, %1, %0" : "+v"(acc[i]) : "v"(x));
#pragma GCC unroll 16
  for (int i = 1; i < kPeakChains; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  float out[16];  // a copy: accumulators whose address escapes would live in memory
  _mm512_storeu_ps(out, acc[0]);
  benchmark::DoNotOptimize(out);
  return 16.0 * kPeakRounds * kPeakChains;
}

__attribute__((target("avx512f,avx512vnni"))) double dot_burst_avx512() {
  __m512i acc[kPeakChains];
#pragma GCC unroll 16
  for (int i = 0; i < kPeakChains; ++i) acc[i] = _mm512_setzero_si512();
  const __m512i x = _mm512_set1_epi8(3);
  for (int round = 0; round < kPeakRounds; ++round)
#pragma GCC unroll 16
    for (int i = 0; i < kPeakChains; ++i) asm("vpdpbusd %1, %1, %0" : "+v"(acc[i]) : "v"(x));
#pragma GCC unroll 16
  for (int i = 1; i < kPeakChains; ++i) acc[0] = _mm512_add_epi32(acc[0], acc[i]);
  int out[16];
  _mm512_storeu_si512(out, acc[0]);
  benchmark::DoNotOptimize(out);
  return 64.0 * kPeakRounds * kPeakChains;
}

__attribute__((target("avx2,fma"))) double fma_burst_avx2() {
  constexpr int kChains = 12;
  __m256 acc[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) acc[i] = _mm256_setzero_ps();
  const __m256 x = _mm256_set1_ps(0.5f);
  for (int round = 0; round < kPeakRounds; ++round)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) asm("vfmadd231ps %1, %1, %0" : "+x"(acc[i]) : "x"(x));
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) acc[0] = _mm256_add_ps(acc[0], acc[i]);
  float out[8];
  _mm256_storeu_ps(out, acc[0]);
  benchmark::DoNotOptimize(out);
  return 8.0 * kPeakRounds * kChains;
}
#endif

using Burst = double (*)();

// Null where this program has no measure of the peak.
Burst burst_for(Isa isa, DType type) {
#if defined(__x86_64__)
  if (isa == Isa::kAvx512) return dtype_size(type) == 0 ? dot_burst_avx512 : fma_burst_avx512;
  if (isa == Isa::kAvx2) return fma_burst_avx2;  // also for integers: AVX2 has no such instruction
#endif
  return nullptr;
}

// Multiplications per processor second, the best of twenty.
double peak(ThreadPool& pool, Burst burst) {
  double best = 0.0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::vector<double> done(pool.n_threads());
    const double start = processor_seconds();
    pool.parallel_for(4 * pool.n_threads(), [&](int64_t, int worker) { done[worker] += burst(); });
    double sum = 0.0;
    for (const double n : done) sum += n;
    best = std::max(best, sum / (processor_seconds() - start));
  }
  return best;
}

// --- products -----------------------------------------------------------------------------------

void linear_bench(benchmark::State& state, const Kernels* kernels, DType type) {
  const int m = static_cast<int>(state.range(0)), n = static_cast<int>(state.range(1));
  const int k = static_cast<int>(state.range(2)), n_copies = static_cast<int>(state.range(4));
  ThreadPool pool(static_cast<int>(state.range(3)));
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0f, 0.1f);
  std::vector<float> weights(static_cast<size_t>(n) * k), x(static_cast<size_t>(m) * k);
  for (float& v : weights) v = normal(random);
  for (float& v : x) v = normal(random);
  // 1/16 in f16, small in bf16, ordinary scales and any integers in blocks of q4_K.
  std::vector<uint16_t> half(weights.size(), 0x2c00);
  std::vector<PackedMatrix> copies;
  for (int i = 0; i < n_copies; ++i) {
    copies.emplace_back(type, n, k);
    const bool wide = type != DType::kF16 && type != DType::kBF16 && type != DType::kQ4_K;
    copies.back().set_rows(*kernels, 0, n, wide ? DType::kF32 : type,
                           wide ? static_cast<void*>(weights.data()) : half.data());
  }
  std::vector<float> y(static_cast<size_t>(m) * n);
  LinearScratch scratch;
  const Burst burst = burst_for(kernels->isa, type);
  const double limit = burst == nullptr ? 0.0 : peak(pool, burst);
  size_t next = 0;
  const double start = processor_seconds();
  for (auto _ : state) {
    linear(*kernels, pool, copies[next], x.data(), k, m, y.data(), n, scratch);
    next = (next + 1) % copies.size();
  }
  const double seconds = processor_seconds() - start;
  const double calls_per_second = static_cast<double>(state.iterations()) / seconds;
  const double products = double{1} * m * n * k * calls_per_second;
  state.counters["GMAC/s"] = 1e-9 * products;
  state.counters["GB/s"] =
      1e-9 * static_cast<double>(copies[0].bytes()) * calls_per_second * pool.n_threads();
  if (limit > 0.0) state.counters["peak_share"] = products / limit;
}

void add_benchmarks() {
  constexpr int kShapes[][2] = {{3072, 1024}, {1024, 3072}};  // n, k
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2, Isa::kPortable}) {
    const Kernels* kernels = kernels_for(isa);
    if (kernels == nullptr) continue;
    for (const DType type : {DType::kF32, DType::kBF16, DType::kF16, DType::kQ8_0, DType::kQ4_0,
                             DType::kQ4_K, DType::kI8}) {
      const std::string name =
          "linear/" + std::string(kernels->name) + "/" + std::string(dtype_name(type));
      auto* bench = benchmark::RegisterBenchmark(
          name.c_str(), [=](benchmark::State& state) { linear_bench(state, kernels, type); });
      bench->UseRealTime()->Unit(benchmark::kMicrosecond)->MinTime(0.05);
      for (const auto [n, k] : kShapes) {
        const size_t bytes = PackedMatrix(type, n, k).bytes();
        const int64_t cold = static_cast<int64_t>((size_t{64} << 20) / bytes + 1);
        for (const int threads : {1, 2}) {
          for (const int m : {1, 2, 4, 8, 16, 32, 64})
            if (isa != Isa::kPortable) bench->Args({m, n, k, threads, cold});
          for (const int m : {256, 512})
            if (isa != Isa::kPortable) bench->Args({m, n, k, threads, 1});
        }
      }
      if (isa == Isa::kPortable) bench->Args({4, 1024, 1024, 1, 1});
    }
  }
}

}  // namespace
}  // namespace pando::kernel

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  pando::kernel::add_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
}
