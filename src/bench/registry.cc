#include "bench/registry.h"

namespace pando::bench {
namespace {

std::vector<Benchmark>& all() {
  static std::vector<Benchmark> all = [] {
    std::vector<Benchmark> own;
    for (const auto& part :
         {speed_benchmarks(), kernel_benchmarks(), exactness_benchmarks(), gpu_benchmarks()})
      own.insert(own.end(), part.begin(), part.end());
    return own;
  }();
  return all;
}

}  // namespace

const std::vector<Benchmark>& registered_benchmarks() { return all(); }

void add_benchmarks(const std::vector<Benchmark>& more) {
  all().insert(all().end(), more.begin(), more.end());
}

}  // namespace pando::bench
