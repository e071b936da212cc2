#include "lab/papers/serve_contenders.h"

#include <fmt/format.h>

namespace pando::lab {

namespace {

EngineOptions by_time(const EngineOptions& base, const char* policy, double step_budget) {
  EngineOptions options = base;
  options.policy = policy;
  options.step_budget = step_budget;
  return options;
}

}  // namespace

std::vector<Contender> contenders(const EngineOptions& base, double step_budget, int static_rows) {
  EngineOptions chunks = base, whole = base;
  chunks.step_rows = static_rows;
  whole.packing.whole_prompts = true;
  return {{"LARS, packed", by_time(base, "lars", step_budget)},
          {"LARS alone", by_time(base, "lars", step_budget), /*many_prefills=*/false},
          {"EDF", by_time(base, "edf", step_budget)},
          {"LRS", by_time(base, "lrs", step_budget)},
          {fmt::format("FCFS, chunks of {}", static_rows), chunks},
          {"FCFS, whole prompts", whole}};
}

std::vector<Contender> ablations(const EngineOptions& base, double step_budget,
                                 const std::vector<int>& fixed_rows) {
  constexpr std::pair<const char*, const char*> kPolicies[] = {
      {"LARS", "lars"}, {"EDF", "edf"}, {"LRS", "lrs"}, {"FCFS", "fcfs"}};
  std::vector<Contender> all;
  for (const auto& [name, policy] : kPolicies)
    for (const bool many : {true, false})
      all.push_back({fmt::format("{}, {}", name, many ? "many prefills" : "one prefill"),
                     by_time(base, policy, step_budget), many});
  for (const int rows : fixed_rows) {
    all.push_back({fmt::format("FCFS, chunks of {}", rows), base});
    all.back().engine.step_rows = rows;
  }
  return all;
}

}  // namespace pando::lab
