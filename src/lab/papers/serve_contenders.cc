#include "lab/papers/serve_contenders.h"

#include <fmt/format.h>

namespace pando::lab {

std::vector<Contender> contenders(const EngineOptions& base, double step_budget, int static_rows) {
  const auto by_time = [&](const char* policy) {
    EngineOptions options = base;
    options.policy = policy;
    options.step_budget = step_budget;
    return options;
  };
  EngineOptions chunks = base, whole = base;
  chunks.step_rows = static_rows;
  whole.packing.whole_prompts = true;
  return {{"LARS, packed", by_time("lars")},
          {"LARS alone", by_time("lars"), /*many_prefills=*/false},
          {"EDF", by_time("edf")},
          {"LRS", by_time("lrs")},
          {fmt::format("FCFS, chunks of {}", static_rows), chunks},
          {"FCFS, whole prompts", whole}};
}

}  // namespace pando::lab
