// What a value of EngineOptions::sharing stands for, and the registry of these.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/technique_options.h"
#include "exec/cpu/layer_attention.h"
#include "pando/engine.h"
#include "pando/result.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// A planner, and what it needs of the engine besides. The engine's own are planners alone.
struct Technique {
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Batcher> batcher;  // null: steps are filled as the engine's options say
  exec::PassHooks hooks;             // of the executor; a store lives in `planner`
  bool takes_int8 = true;            // as the type of keys and values
  bool exact = true;                 // whether it keeps the bits, whatever else is in the step
  std::string warning;               // what is said wherever its output appears; empty: nothing
  // What it counted since it was made; empty: nothing.
  std::function<std::vector<Figure>()> figures;
};

struct NamedTechnique {
  const char* name;
  Technique (*make)(TechniqueOptions& options, int tile_len);  // tile_len: in positions
};

// Adds to the planners that `sharing` can name, in this order. Before any engine is opened; not
// from several threads at once.
void register_techniques(std::span<const NamedTechnique> techniques);

// By NAME, or NAME:OPTION,OPTION=VALUE,... (docs/planners.md). Errors: kInvalidArgument.
Result<Technique> make_technique(std::string_view sharing, int tile_len);

}  // namespace pando
