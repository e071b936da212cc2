// Techniques, which EngineOptions::sharing names, and their registry.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/executor.h"
#include "engine/technique_options.h"
#include "pando/values/engine_options.h"
#include "pando/values/engine_stats.h"
#include "pando/values/result.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// A planner, and other parts of the engine that a technique replaces. The engine's own techniques
// are planners alone.
struct Technique {
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Batcher> batcher;      // null: steps are filled as the engine's options say
  std::shared_ptr<ExecutorHooks> hooks;  // into the executor; `planner` owns their data
  bool one_layer = false;                // see KvOptions
  bool takes_int8 = true;                // keys and values may be int8
  bool caps_scores = true;               // its attention knows soft caps of scores
  bool takes_sinks = true;               // its attention knows sinks
  // Plans have state tasks and lists of window pages: models may be recurrent, and windows free
  // memory.
  bool full_plans = false;
  bool exact = true;    // bits do not depend on other rows of the step
  std::string warning;  // shown wherever its output appears; empty: none
  // Counters of the technique since it was made; empty: none.
  std::function<std::vector<Figure>()> figures;
};

struct NamedTechnique {
  const char* name;
  Technique (*make)(TechniqueOptions& options, int tile_len);  // tile_len: in positions
};

// Adds to the techniques that `sharing` can name, in this order. To be called before any engine is
// opened, and not from several threads at once.
void register_techniques(std::span<const NamedTechnique> techniques);

std::span<const NamedTechnique> registered_techniques();

// Makes a technique. sharing: NAME, or NAME:OPTION,OPTION=VALUE,... (lab/docs/planners.md). Errors:
// kInvalidArgument.
Result<Technique> make_technique(std::string_view sharing, int tile_len);

}  // namespace pando
