// The experiments there are, by paper.
#pragma once

#include <vector>

#include "bench/registry.h"
#include "lab/experiment.h"

namespace pando::lab {

std::vector<Benchmark> ippd_benchmarks();
std::vector<Benchmark> ippd_data_benchmarks();
std::vector<Benchmark> hydragen_benchmarks();
std::vector<Benchmark> hydragen_data_benchmarks();
std::vector<Benchmark> prepacking_benchmarks();
std::vector<Benchmark> prepacking_bins_benchmarks();
std::vector<Benchmark> radixmlp_benchmarks();
std::vector<Benchmark> medha_benchmarks();
std::vector<Benchmark> medha_ablation_benchmarks();
std::vector<Benchmark> schedule_cost_benchmarks();
std::vector<Benchmark> routing_cost_benchmarks();
std::vector<Benchmark> routing_traces_benchmarks();
std::vector<Benchmark> serve_benchmarks();
std::vector<Benchmark> rerank_benchmarks();
std::vector<Benchmark> planner_benchmarks();
std::vector<Benchmark> place_benchmarks();

}  // namespace pando::lab
