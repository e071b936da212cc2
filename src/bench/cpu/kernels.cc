// The kernels alone, as shares of the machine's peaks.
#include "exec/cpu/kernel/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/numbers/weight_types.h"
#include "bench/cpu/attention_work.h"
#include "bench/cpu/kernel_peaks.h"
#include "bench/cpu/kernel_rates.h"
#include "bench/cpu/recurrence_work.h"
#include "bench/registry.h"
#include "bench/timing.h"

namespace pando::bench {
namespace {

const char* const kByProcessor =
    "By the clock, of all threads; by processor time, of one, so that other work on the machine "
    "does not count, and waiting for one another does.";

std::vector<int> thread_counts(const Harness& harness) {
  return harness.threads() > 1 ? std::vector<int>{1, harness.threads()} : std::vector<int>{1};
}

std::string percent(double part) { return number(100 * part); }

double seconds_each_kernel(const Harness& harness) { return harness.choose(0.01, 0.15, 0.5); }

void run_peak(Harness& harness) {
  Table table{.title = "What this machine can do at most",
              .columns = {"what", "threads", "a second on the clock", "a processor second"},
              .notes = {kByProcessor}};
  for (const int threads : thread_counts(harness)) {
    ThreadPool pool(threads);
    const auto add = [&](const char* what, const Peak& peak) {
      table.add(
          {what, std::to_string(threads), number(1e-9 * peak.wall), number(1e-9 * peak.processor)});
    };
    add("f32 multiply-adds, GFLOP", multiply_peak(pool, DType::kF32));
    add("bf16 multiply-adds, GFLOP", multiply_peak(pool, DType::kBF16Dot));
    add("8-bit multiply-adds (vpdpbusd), GOP", multiply_peak(pool, DType::kI8));
    add(harness.quick() ? "reads of 8 MiB, GB" : "reads of memory, GB",
        read_peak(pool, harness.cold_bytes()));
    add("reads of 32 KiB in a cache, GB", cached_read_peak(pool, size_t{32} << 10));
  }
  harness.show(table, {.n_names = 2, .columns = {"a second on the clock"}});
}

void run_gemm(Harness& harness) {
  struct Shape {
    int n, k;
  };
  const auto shapes = harness.choose<std::vector<Shape>>({{768, 512}}, {{3072, 1024}},
                                                         {{3072, 1024}, {1024, 3072}});
  const auto all_rows = harness.choose<std::vector<int>>({1, 8, 64}, {1, 8, 32, 256, 512},
                                                         {1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
  Table table{.title = fmt::format("Matrix products, {}", used_kernels().name),
              .columns = {"N x K", "weights", "threads", "M", "weights from", "GOP/s", "of peak %",
                          "of peak %, by processor time", "GB/s of weights", "spread %"},
              .notes = {kByProcessor,
                        "The peak is of f32 multiply-adds, of vpdpbusd for weights in integers, of "
                        "vdpbf16ps for bf16_dot, "
                        "of as many threads, measured just before."}};
  for (const auto [n, k] : shapes) {
    for (const WeightTypeInfo& info : weight_types()) {
      const DType type = info.type;
      if (kernel::packed_type(info.type) != info.type) continue;
      for (const bool cold : {false, true}) {
        ProductWork work(type, n, k, cold ? harness.cold_bytes() : 0);
        for (const int threads : thread_counts(harness)) {
          ThreadPool pool(threads);
          const Peak peak = multiply_peak(pool, type);
          for (const int m : all_rows) {
            if (cold && m > 64) continue;  // the same then
            const CallTime time =
                time_calls(seconds_each_kernel(harness), [&] { work.run(pool, m); });
            const double operations = 2.0 * m * n * k;
            table.add({fmt::format("{} x {}", n, k), std::string(info.name),
                       std::to_string(threads), std::to_string(m), cold ? "memory" : "caches",
                       number(1e-9 * operations / time.wall),
                       percent(operations / time.wall / peak.wall),
                       percent(operations / time.processor / peak.processor),
                       number(1e-9 * static_cast<double>(work.bytes()) / time.wall),
                       percent(time.spread)});
          }
        }
      }
    }
  }
  harness.show(table, {.n_names = 5, .columns = {"of peak %"}});
}

void run_attention(Harness& harness) {
  const int n_keys = harness.choose(1024, 16384, 16384);
  const auto all_rows = harness.choose<std::vector<int>>({1, 16}, {1, 4, 8, 16, 32, 64, 128, 256},
                                                         {1, 2, 4, 8, 12, 16, 32, 64, 128, 256});
  const auto types = harness.full()
                         ? std::vector<DType>{DType::kF32, DType::kF16, DType::kBF16, DType::kI8}
                         : std::vector<DType>{DType::kF16, DType::kI8};
  constexpr int kHeads = 8, kHeadDim = 128;
  Table table{.title = fmt::format("Attention of rows that share {} keys from memory, {} KV heads "
                                   "of {}, {}",
                                   n_keys, kHeads, kHeadDim, used_kernels().name),
              .columns = {"threads", "rows per KV head", "keys and values", "GFLOP/s", "of peak %",
                          "of peak %, by processor time", "GB/s", "of reads %", "spread %"},
              .notes = {kByProcessor,
                        "The peak is of f32 multiply-adds, also for int8, whose products are "
                        "integers."}};
  Chart chart{
      .title = table.title, .x_label = "rows per KV head", .y_label = "GFLOP/s", .log_x = true};
  for (const int threads : thread_counts(harness)) {
    ThreadPool pool(threads);
    const Peak peak = multiply_peak(pool, DType::kF32),
               reads = read_peak(pool, harness.cold_bytes());
    for (const DType type : types) {
      chart.series.push_back({fmt::format("{}, {} threads", dtype_name(type), threads), {}});
      for (const int rows : all_rows) {
        const AttentionCase shape{.type = type,
                                  .batch = rows,
                                  .prefix = n_keys,
                                  .n_heads = kHeads,
                                  .n_kv_heads = kHeads,
                                  .head_dim = kHeadDim};
        AttentionWork work(shape, harness.cold_bytes());
        const CallTime time = time_calls(seconds_each_kernel(harness), [&] { work.shared(pool); });
        table.add({std::to_string(threads), std::to_string(rows), std::string(dtype_name(type)),
                   number(1e-9 * shape.flops() / time.wall),
                   percent(shape.flops() / time.wall / peak.wall),
                   percent(shape.flops() / time.processor / peak.processor),
                   number(1e-9 * shape.bytes() / time.wall),
                   percent(shape.bytes() / time.wall / reads.wall), percent(time.spread)});
        chart.series.back().points.emplace_back(rows, 1e-9 * shape.flops() / time.wall);
      }
    }
  }
  harness.show(table);
  harness.show(chart);
}

void run_recurrence(Harness& harness) {
  constexpr int kDim = RecurrenceWork::kDim;
  Table table{
      .title = fmt::format("Gated delta rule, {} heads of {} x {}, {}", RecurrenceWork::kHeads,
                           kDim, kDim, used_kernels().name),
      .columns = {"threads", "sequences", "rows of each", "ns a row and head", "of peak %",
                  "of peak %, by processor time", "GB/s of states", "spread %"},
      .notes = {kByProcessor,
                "The peak is of f32 multiply-adds. Each value of a state takes four instructions "
                "of the units that compute multiply-adds. At 100 % these units would do nothing "
                "else."}};
  struct Shape {
    int n_sequences, n_rows;
  };
  const auto shapes = harness.choose<std::vector<Shape>>(
      {{1, 32}, {2, 1}}, {{1, 512}, {4, 32}, {128, 1}}, {{1, 512}, {1, 64}, {4, 32}, {128, 1}});
  for (const auto [n_sequences, n_rows] : shapes) {
    RecurrenceWork work(n_sequences, n_rows);
    for (const int threads : thread_counts(harness)) {
      ThreadPool pool(threads);
      const Peak peak = multiply_peak(pool, DType::kF32);
      const CallTime time = time_calls(seconds_each_kernel(harness), [&] { work.run(pool); });
      table.add({std::to_string(threads), std::to_string(n_sequences), std::to_string(n_rows),
                 number(1e9 * time.wall / work.rows_of_heads()),
                 percent(work.flops() / time.wall / peak.wall),
                 percent(work.flops() / time.processor / peak.processor),
                 number(1e-9 * work.bytes() / time.wall), percent(time.spread)});
    }
  }
  harness.show(table, {.n_names = 3, .columns = {"ns a row and head"}});
}

}  // namespace

std::vector<Benchmark> kernel_benchmarks() {
  return {
      {{"peak", "multiply-adds and reads of memory: the machine's limits"}, run_peak},
      {{"gemm", "matrix products by weights and rows, as shares of the peak"}, run_gemm},
      {{"attention", "attention by rows that share keys, as shares of the peak"}, run_attention},
      {{"recurrence", "states of recurrent layers by rows, as shares of the peak"},
       run_recurrence}};
}

}  // namespace pando::bench
