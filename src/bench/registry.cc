#include "bench/registry.h"

#include <new>
#include <string_view>

#include "base/errors.h"
#include "base/nearest.h"
#include "bench/inputs.h"

namespace pando::bench {
namespace {

// In the order of `pando bench list`.
std::vector<Benchmark>& all() {
  static std::vector<Benchmark> all = [] {
    std::vector<Benchmark> own;
    for (const auto& part : {speed_benchmarks(), kernel_benchmarks(), exactness_benchmarks()})
      own.insert(own.end(), part.begin(), part.end());
    return own;
  }();
  return all;
}

}  // namespace

void add_benchmarks(const std::vector<Benchmark>& more) {
  all().insert(all().end(), more.begin(), more.end());
}

std::vector<BenchmarkInfo> benchmarks() {
  std::vector<BenchmarkInfo> infos;
  for (const Benchmark& benchmark : all()) infos.push_back(benchmark.info);
  return infos;
}

Status run_benchmark(const std::string& name, const Settings& settings) {
  for (const Benchmark& benchmark : all()) {
    if (name != benchmark.info.name) continue;
    if (Status status = check_inputs(name, settings); !status) return status;
    try {
      Harness harness(name, settings);
      benchmark.run(harness);
      harness.footer();
    } catch (const BenchmarkError& error) {
      return error.error;
    } catch (const std::bad_alloc&) {
      return make_error(ErrorCode::kUnavailable, "{}: there is not enough memory", name);
    }
    return {};
  }
  std::vector<std::string_view> known;
  for (const Benchmark& benchmark : all()) known.push_back(benchmark.info.name);
  return invalid_argument("no benchmark is named '{}', expected one of `pando bench list`{}", name,
                          nearest_hint(name, known));
}

}  // namespace pando::bench
