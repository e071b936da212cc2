#include "lab/lab.h"

#include <mutex>

#include "lab/papers/papers.h"
#include "lab/techniques/techniques.h"

namespace pando::lab {

void open() {
  static std::once_flag opened;
  std::call_once(opened, [] {
    register_techniques();
    for (const auto& benchmarks :
         {ippd_benchmarks(), ippd_data_benchmarks(), hydragen_benchmarks(),
          hydragen_data_benchmarks(), prepacking_benchmarks(), prepacking_bins_benchmarks(),
          radixmlp_benchmarks(), medha_benchmarks(), medha_ablation_benchmarks(),
          serve_benchmarks(), schedule_cost_benchmarks(), routing_cost_benchmarks(),
          routing_traces_benchmarks(), rerank_benchmarks(), place_benchmarks(),
          planner_benchmarks()})
      bench::add_benchmarks(benchmarks);
  });
}

}  // namespace pando::lab
