// Techniques, which EngineOptions::sharing names, and their registry.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "contract/device.h"
#include "contract/executor.h"
#include "engine/technique_options.h"
#include "pando/values/engine_options.h"
#include "pando/values/engine_stats.h"
#include "pando/values/result.h"
#include "plan/planner.h"
#include "schedule/batcher.h"

namespace pando {

// Makes an executor for a technique that needs one of its own. Its plans have no state tasks and no
// lists of window pages, and one row of an answer in a step.
class ExecutorMaker {
 public:
  virtual ~ExecutorMaker() = default;
  // kUnsupported or kInvalidArgument if the technique cannot compute this model with these options.
  virtual Status check(const DeviceModel& model, const EngineOptions& engine) const = 0;
  // As Device::kv_room.
  virtual Result<KvRoom> kv_room(const Device& device, const model::ModelSpec& spec,
                                 const KvOptions& options) const = 0;
  // As DeviceModel::open, once `check` allows it; the technique's planner outlives the executor.
  virtual std::unique_ptr<Executor> open(const DeviceModel& model, const EngineOptions& engine,
                                         const ExecutorOptions& options, const KvRoom& room,
                                         ThreadPool& pool) const = 0;
};

// A planner, and other parts of the engine that a technique replaces. The engine's own techniques
// are planners alone.
struct Technique {
  std::unique_ptr<Planner> planner;
  std::unique_ptr<Batcher> batcher;         // null: steps are filled as the engine's options say
  std::unique_ptr<ExecutorMaker> executor;  // null: the device's own
  bool exact = true;                        // bits do not depend on other rows of the step
  std::string warning;                      // shown wherever its output appears; empty: none
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
