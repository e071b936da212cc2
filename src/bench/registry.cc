#include "bench/registry.h"

#include <new>
#include <string_view>

#include "base/errors.h"
#include "base/nearest.h"
#include "bench/inputs.h"

namespace pando::bench {
namespace {

std::vector<Benchmark> all() {
  std::vector<Benchmark> all;
  for (const auto& part :
       {speed_benchmarks(), kernel_benchmarks(), exactness_benchmarks(), ippd_benchmarks(),
        ippd_data_benchmarks(), hydragen_benchmarks(), hydragen_data_benchmarks(),
        prepacking_benchmarks(), prepacking_bins_benchmarks(), radixmlp_benchmarks(),
        medha_benchmarks(), serve_benchmarks(), rerank_benchmarks(), planner_benchmarks()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace

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
