#include "lab/papers/serve_contenders.h"

#include <fmt/format.h>

namespace pando::lab {

std::vector<Contender> contenders(const EngineOptions& base, double step_budget, int static_rows) {
  const auto by_time = [&](const char* policy, bool many_prefills) {
    EngineOptions options = base;
    options.policy = policy;
    options.step_budget = step_budget;
    options.packing.many_prefills = many_prefills;
    return options;
  };
  EngineOptions chunks = base, whole = base;
  chunks.step_rows = static_rows;
  whole.packing.whole_prompts = true;
  return {{"LARS, packed", by_time("lars", true)},
          {"LARS alone", by_time("lars", false)},
          {"EDF", by_time("edf", true)},
          {"LRS", by_time("lrs", true)},
          {fmt::format("FCFS, chunks of {}", static_rows), chunks},
          {"FCFS, whole prompts", whole}};
}

}  // namespace pando::lab
