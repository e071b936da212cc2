// The benchmarks there are, by paper.
#pragma once

#include <vector>

#include "bench/harness.h"

namespace pando::bench {

struct Benchmark {
  BenchmarkInfo info;
  void (*run)(Harness& harness);
};

std::vector<Benchmark> speed_benchmarks();
std::vector<Benchmark> kernel_benchmarks();
std::vector<Benchmark> exactness_benchmarks();
std::vector<Benchmark> ippd_benchmarks();
std::vector<Benchmark> hydragen_benchmarks();
std::vector<Benchmark> radixmlp_benchmarks();
std::vector<Benchmark> medha_benchmarks();
std::vector<Benchmark> serve_benchmarks();
std::vector<Benchmark> prepacking_benchmarks();
std::vector<Benchmark> prepacking_bins_benchmarks();
std::vector<Benchmark> ippd_data_benchmarks();
std::vector<Benchmark> hydragen_data_benchmarks();
std::vector<Benchmark> rerank_benchmarks();
std::vector<Benchmark> planner_benchmarks();

}  // namespace pando::bench
