// The benchmarks there are: the product's own, and those that the laboratory adds.
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
std::vector<Benchmark> gpu_benchmarks();

// All that there are, in the order of `pando bench list`.
const std::vector<Benchmark>& registered_benchmarks();
// Appends benchmarks; their names must be new. Not while another thread asks for benchmarks.
void add_benchmarks(const std::vector<Benchmark>& more);

}  // namespace pando::bench
