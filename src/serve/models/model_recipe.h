// Says how a server of several models loads one of them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "pando/engine.h"
#include "pando/generation_config.h"
#include "pando/values/result.h"

namespace pando::serve {

// A model in memory, before its engine is opened.
struct LoadedModel {
  std::shared_ptr<const Model> model;
  EngineOptions options;  // kv_memory 0: a share of the rest of the budget
  GenerationConfig defaults;
  std::string files_fingerprint;
};

// One thread calls its functions; others may call size() too.
struct ModelRecipe {
  std::string name;                           // in requests
  size_t kv_memory = 0;                       // bytes; 0: a share of the rest of the budget
  std::function<Result<size_t>()> size;       // approximate bytes of its weights
  std::function<Result<LoadedModel>()> load;  // takes long
  // Measures step times and fills them in. Other engines compute only in calls of `between`. Empty:
  // nothing to measure.
  using Between = std::function<void()>;
  std::function<Status(const Model& model, EngineOptions& options, const Between& between)>
      measure = {};
};

}  // namespace pando::serve
