#include "bench/bench.h"

#include <new>
#include <string_view>

#include "base/errors.h"
#include "base/machine.h"
#include "base/nearest.h"
#include "bench/inputs.h"
#include "bench/registry.h"

namespace pando::bench {

std::vector<BenchmarkInfo> benchmarks() {
  std::vector<BenchmarkInfo> infos;
  for (const Benchmark& benchmark : registered_benchmarks()) infos.push_back(benchmark.info);
  return infos;
}

Status run_benchmark(const std::string& name, const Settings& settings) {
  for (const Benchmark& benchmark : registered_benchmarks()) {
    if (name != benchmark.info.name) continue;
    if (Status status = check_inputs(name, settings); !status) return status;
    try {
      Harness harness(name, settings);
      benchmark.run(harness);
      harness.footer();
    } catch (const BenchmarkError& error) {
      return error.error;
    } catch (const std::bad_alloc&) {
      return in_file(name,
                     make_error(ErrorCode::kUnavailable, "not enough memory: {}", free_text()));
    }
    return {};
  }
  std::vector<std::string_view> known;
  for (const Benchmark& benchmark : registered_benchmarks()) known.push_back(benchmark.info.name);
  return with_nearest(
      name, known,
      invalid_argument("no benchmark is named '{}', expected one of `pando bench list`", name));
}

}  // namespace pando::bench
