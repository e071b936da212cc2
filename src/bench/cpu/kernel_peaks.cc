#include "bench/cpu/kernel_peaks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/numbers/weight_types.h"
#include "bench/harness.h"
#include "bench/timing.h"
#include "exec/cpu/kernel/kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pando::bench {
namespace {

// The compiler takes what `p` points at as read.
void keep(const void* p) { asm volatile("" : : "r"(p) : "memory"); }

#if defined(__x86_64__)
constexpr int kRounds = 20'000;
constexpr int kChains = 16;  // independent, so that latency is hidden

// Each returns its number of operations: on f32, on pairs of bf16 (vdpbf16ps), or on bytes
// (vpdpbusd) in registers taken for f32.
template <int kEach>  // multiply-adds of a lane
__attribute__((target("avx512f,avx512vnni,avx512bf16"), noinline)) double burst_avx512() {
  __m512 acc[kChains];
#pragma GCC unroll 16
  for (int i = 0; i < kChains; ++i) acc[i] = _mm512_setzero_ps();
  const __m512 x = _mm512_set1_ps(0.5f);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) {
      if constexpr (kEach == 4)
        asm("vpdpbusd %1, %1, %0" : "+v"(acc[i]) : "v"(x));
      else if constexpr (kEach == 2)
        asm("vdpbf16ps %1, %1, %0" : "+v"(acc[i]) : "v"(x));
      else
        asm("vfmadd231ps %1, %1, %0" : "+v"(acc[i]) : "v"(x));
    }
#pragma GCC unroll 16
  for (int i = 1; i < kChains; ++i) acc[0] = _mm512_add_ps(acc[0], acc[i]);
  float out[16];  // a copy: accumulators whose address escapes would live in memory
  _mm512_storeu_ps(out, acc[0]);
  keep(out);
  return 32.0 * kEach * kRounds * kChains;
}

template <int kEach>
__attribute__((target("avx2,fma,avxvnni"), noinline)) double burst_avx2() {
  constexpr int kFewer = 12;
  __m256 acc[kFewer];
#pragma GCC unroll 16
  for (int i = 0; i < kFewer; ++i) acc[i] = _mm256_setzero_ps();
  const __m256 x = _mm256_set1_ps(0.5f);
  for (int round = 0; round < kRounds; ++round)
#pragma GCC unroll 16
    for (int i = 0; i < kFewer; ++i) {
      if constexpr (kEach == 4)
        asm("%{vex%} vpdpbusd %1, %1, %0" : "+x"(acc[i]) : "x"(x));
      else
        asm("vfmadd231ps %1, %1, %0" : "+x"(acc[i]) : "x"(x));
    }
#pragma GCC unroll 16
  for (int i = 1; i < kFewer; ++i) acc[0] = _mm256_add_ps(acc[0], acc[i]);
  float out[8];
  _mm256_storeu_ps(out, acc[0]);
  keep(out);
  return 16.0 * kEach * kRounds * kFewer;
}
#endif

using Burst = double (*)();

// Null if this program has no measure.
Burst burst_for(DType weights) {
#if defined(__x86_64__)
  const kernel::Isa isa = kernel::best_kernels().isa;
  if (weights == DType::kBF16Dot) {
    if (isa >= kernel::Isa::kAvx512Bf16) return burst_avx512<2>;
    weights = DType::kF32;  // two of its multiply-adds
  }
  if (isa >= kernel::Isa::kAvx512)
    return dtype_size(weights) == 0 ? burst_avx512<4> : burst_avx512<1>;
  if (isa == kernel::Isa::kAvxVnni && dtype_size(weights) == 0) return burst_avx2<4>;
  // AVX2 has no such instruction for integers.
  if (isa >= kernel::Isa::kAvx2 && dtype_size(weights) > 0) return burst_avx2<1>;
#endif
  static_cast<void>(weights);
  return nullptr;
}

// Calls `attempt`, which returns its work, for attempts of half a second. The best counts on the
// clock: a scheduler takes a while to give every thread a processor. Processor time is that of all
// attempts together: the system counts other threads only at its ticks, which are longer than one
// attempt.
Peak best_of(FunctionRef<double()> attempt) {
  Peak best{0, 0};
  double all_work = 0;
  const double busy = processor_seconds();
  const auto begin = std::chrono::steady_clock::now();
  for (auto start = begin; start - begin < std::chrono::milliseconds(500);
       start = std::chrono::steady_clock::now()) {
    const double work = attempt();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best.wall = std::max(best.wall, work / seconds.count());
    all_work += work;
  }
  best.processor = all_work / (processor_seconds() - busy);
  return best;
}

constexpr size_t kPiece = size_t{1} << 20;

#if defined(__x86_64__)
// Loads of 32 bytes: a loop over words is slower than memory.
__attribute__((target("avx2"))) void read_avx2(const uint64_t* p, size_t n_bytes) {
  const auto* x = reinterpret_cast<const __m256i*>(p);
  __m256i sum[4] = {};
  for (size_t i = 0; i < n_bytes / sizeof(__m256i); i += 4)
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) sum[j] = _mm256_add_epi64(sum[j], _mm256_load_si256(x + i + j));
  const __m256i out =
      _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]));
  keep(&out);
}
#endif

// Whole lines.
void read(const uint64_t* p, size_t n_bytes) {
#if defined(__x86_64__)
  if (kernel::best_kernels().isa >= kernel::Isa::kAvx2) return read_avx2(p, n_bytes);
#endif
  uint64_t sum[8] = {};
  for (size_t i = 0; i < n_bytes / 8; i += 8)
    for (size_t j = 0; j < 8; ++j) sum[j] += p[i + j];
  keep(sum);
}

}  // namespace

Peak multiply_peak(ThreadPool& pool, DType weights) {
  const Burst burst = burst_for(weights);
  if (burst == nullptr) return {kNotMeasured, kNotMeasured};
  return best_of([&] {
    std::vector<double> done(static_cast<size_t>(pool.n_threads()));
    // Several for each thread: one that starts late does fewer.
    pool.parallel_for(16 * pool.n_threads(), [&](int64_t, int worker) { done[worker] += burst(); });
    double all = 0;
    for (const double n : done) all += n;
    return all;
  });
}

Peak read_peak(ThreadPool& pool, size_t n_bytes) {
  const auto n_pieces = static_cast<int64_t>(n_bytes / kPiece);
  const AlignedBuffer memory(static_cast<size_t>(n_pieces) * kPiece);
  std::memset(memory.data(), 1, memory.size());
  return best_of([&] {
    pool.parallel_for(n_pieces, [&](int64_t item, int) {
      read(memory.as<uint64_t>() + item * (kPiece / 8), kPiece);
    });
    return static_cast<double>(memory.size());
  });
}

Peak cached_read_peak(ThreadPool& pool, size_t n_bytes) {
  constexpr int64_t kPieces = 256;  // of an attempt
  const AlignedBuffer memory(n_bytes * pool.n_threads());
  std::memset(memory.data(), 1, memory.size());
  return best_of([&] {
    pool.parallel_for(kPieces, [&](int64_t, int worker) {
      for (size_t done = 0; done < kPiece; done += n_bytes)
        read(memory.as<uint64_t>() + worker * (n_bytes / 8), n_bytes);
    });
    return static_cast<double>(kPieces * kPiece);
  });
}

}  // namespace pando::bench
