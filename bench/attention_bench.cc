// Attention of query rows that share one context, by processor time: share of the machine's FMA
// peak (measured in the same run), and bytes of keys and values per second, both of one processor.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/half.h"
#include "kernel/attention.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pando::kernel {
namespace {

#if defined(__x86_64__)
__attribute__((target("avx512f"))) double fma_chains(int64_t n) {
  __m512 sum[12];
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i) sum[i] = _mm512_set1_ps(static_cast<float>(i));
  const __m512 x = _mm512_set1_ps(0.5f);
  for (int64_t k = 0; k < n; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < 12; ++i) {
      sum[i] = _mm512_fmadd_ps(sum[i], x, x);
      asm volatile("" : "+v"(sum[i]));
    }
  }
  float lanes[16] = {};
#pragma GCC unroll 12
  for (int i = 0; i < 12; ++i)
    _mm512_storeu_ps(lanes, _mm512_add_ps(_mm512_loadu_ps(lanes), sum[i]));
  return lanes[0];
}
#endif

// Of all threads: other work on the machine does not count, waiting for one another does.
double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// FLOP/s of independent AVX-512 chains on one thread; 0 where the machine has none.
double fma_peak() {
#if defined(__x86_64__)
  if (kernels_for(Isa::kAvx512) == nullptr) return 0;
  static const double peak = [] {
    constexpr int64_t n = 2'000'000;
    double best = 0;
    for (int sample = 0; sample < 10; ++sample) {
      const double start = processor_seconds();
      benchmark::DoNotOptimize(fma_chains(n));
      best = std::max(best, n * 12 * 32 / (processor_seconds() - start));
    }
    return best;
  }();
  return peak;
#else
  return 0;
#endif
}

// n_rows rows at the end of a shared context of n_keys positions; one layer of two, so that each
// call reads memory of its own: 2 x 8 heads x 16,384 positions x 128 channels are 64 MiB in f16.
struct Workload {
  Workload(DType type, int n_rows, int n_keys, int head_dim, int n_kv_heads) {
    args.kv.shape = {.type = type, .n_layers = 2, .n_kv_heads = n_kv_heads, .head_dim = head_dim};
    const KvShape& shape = args.kv.shape;
    const int n_pages = (n_keys + shape.page_len - 1) / shape.page_len;
    memory = AlignedBuffer(n_pages * shape.page_bytes());
    const size_t n_elements = type == DType::kI8 ? 0 : memory.size() / dtype_size(type);
    if (type == DType::kI8) fill_int8();
    std::minstd_rand random(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> values(4096);
    for (float& x : values) x = uniform(random);
    for (size_t i = 0; i < n_elements; ++i) {
      const float x = values[(i + i / 4096) % 4096];
      const uint16_t half = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
      if (type == DType::kF32) {
        memory.as<float>()[i] = x;
      } else {
        memory.as<uint16_t>()[i] = half;
      }
    }
    args.kv.base = memory.data();
    args.n_heads = n_kv_heads;
    args.scale = static_cast<float>(1.4426950408889634 / std::sqrt(head_dim));
    positions.assign(n_rows, n_keys - 1);
    for (int tile = 0; tile * shape.tile_len < n_keys; ++tile) {
      const uint32_t first = static_cast<uint32_t>(pages.size());
      const uint32_t end = std::min(n_pages, (tile + 1) * shape.pages_per_tile());
      for (uint32_t i = first; i < end; ++i) pages.push_back(i);
      tasks.push_back(
          {static_cast<uint32_t>(tile), 0, static_cast<uint32_t>(n_rows), first, end - first});
    }
    q.assign(static_cast<size_t>(n_rows) * n_kv_heads * head_dim, 0.0f);
    for (float& x : q) x = uniform(random);
    out.resize(q.size());
    args.positions = positions;
    args.tasks = tasks;
    args.task_pages = pages;
    args.q = q.data();
    args.out = out.data();
  }

  // Any integers; scales as of ordinary values.
  void fill_int8() {
    const KvShape& shape = args.kv.shape;
    std::minstd_rand random(1);
    for (size_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<std::byte>(random());
    const size_t elements = int8_element_bytes(shape.page_len, shape.head_dim);
    for (size_t at = elements; at < memory.size(); at += shape.chunk_bytes())
      std::fill_n(reinterpret_cast<float*>(memory.data() + at), shape.page_len, 1.0f / 127);
  }

  AlignedBuffer memory;
  std::vector<uint32_t> positions;
  std::vector<AttentionTask> tasks;
  std::vector<PageId> pages;
  std::vector<float> q, out;
  AttentionArgs args;
};

// Arguments: rows per KV head, KV type, head_dim, instruction set, threads.
void BM_Attention(benchmark::State& state) {
  const int n_rows = static_cast<int>(state.range(0)), head_dim = static_cast<int>(state.range(2));
  const Kernels* kernels = kernels_for(static_cast<Isa>(state.range(3)));
  if (kernels == nullptr) return state.SkipWithError("not on this machine");
  constexpr int kKeys = 16384, kHeads = 8;
  Workload work(static_cast<DType>(state.range(1)), n_rows, kKeys, head_dim, kHeads);
  ThreadPool pool(static_cast<int>(state.range(4)));
  AttentionScratch scratch;
  const double start = processor_seconds();
  for (auto _ : state) {
    attention(*kernels, pool, work.args, scratch);
    work.args.layer = 1 - work.args.layer;
  }
  const double seconds = processor_seconds() - start;
  const double calls = static_cast<double>(state.iterations());
  const double flops = 4.0 * n_rows * kHeads * kKeys * head_dim * calls;
  state.counters["GFLOP/s"] = flops * 1e-9 / seconds;
  if (fma_peak() > 0) state.counters["of_peak"] = flops / seconds / fma_peak();
  state.counters["GB/s"] = 1e-9 * calls * static_cast<double>(work.memory.size() / 2) / seconds;
}

void cases(benchmark::internal::Benchmark* b) {
  constexpr int kF32 = static_cast<int>(DType::kF32), kF16 = static_cast<int>(DType::kF16),
                kBF16 = static_cast<int>(DType::kBF16), kInt8 = static_cast<int>(DType::kI8),
                kBest = static_cast<int>(Isa::kAvx512);
  for (const int rows : {1, 2, 4, 8, 12, 16, 32, 64, 128, 256})
    for (const int type : {kF16, kInt8}) b->Args({rows, type, 128, kBest, 1});
  for (const int type : {kF32, kBF16})
    for (const int rows : {1, 4, 16, 64}) b->Args({rows, type, 128, kBest, 1});
  for (const int rows : {1, 4, 16, 64}) b->Args({rows, kF16, 64, kBest, 1});
  for (const int rows : {1, 4, 16, 64}) b->Args({rows, kF16, 128, static_cast<int>(Isa::kAvx2), 1});
  for (const int rows : {1, 4, 16, 64, 128})
    for (const int type : {kF16, kInt8}) b->Args({rows, type, 128, kBest, 2});
}
BENCHMARK(BM_Attention)
    ->Apply(cases)
    ->ArgNames({"rows", "type", "dim", "isa", "threads"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// What the machine can read from memory: the bound of one row.
void BM_Read(benchmark::State& state) {
  AlignedBuffer memory(size_t{256} << 20);
  std::memset(memory.data(), 1, memory.size());
  ThreadPool pool(static_cast<int>(state.range(0)));
  std::vector<uint64_t> sums(pool.n_threads());
  constexpr size_t kPiece = size_t{1} << 20;
  const double start = processor_seconds();
  for (auto _ : state) {
    pool.parallel_for(static_cast<int64_t>(memory.size() / kPiece), [&](int64_t item, int worker) {
      const uint64_t* p = memory.as<uint64_t>() + item * (kPiece / 8);
      uint64_t sum[8] = {};
      for (size_t i = 0; i < kPiece / 8; i += 8)
        for (size_t j = 0; j < 8; ++j) sum[j] += p[i + j];
      sums[worker] += sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
    });
    benchmark::DoNotOptimize(sums.data());
  }
  state.counters["GB/s"] = 1e-9 * static_cast<double>(state.iterations() * memory.size()) /
                           (processor_seconds() - start);
}
BENCHMARK(BM_Read)
    ->Arg(1)
    ->Arg(2)
    ->ArgNames({"threads"})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace pando::kernel

BENCHMARK_MAIN();
