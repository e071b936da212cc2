// How a model of a server with several models is loaded.
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
  EngineOptions options;  // kv_memory 0: a part of what the budget leaves
  GenerationConfig defaults;
  std::string files_fingerprint;
};

// Its functions are called from one thread, but size() also from others.
struct ModelRecipe {
  std::string name;                           // in requests
  size_t kv_memory = 0;                       // bytes; 0: a part of what the budget leaves
  std::function<Result<size_t>()> size;       // bytes of its weights, about
  std::function<Result<LoadedModel>()> load;  // takes long
  // Fills in how long steps take, while no other engine computes, except in calls of `between`.
  // Empty: nothing to fill in.
  using Between = std::function<void()>;
  std::function<Status(const Model& model, EngineOptions& options, const Between& between)>
      measure = {};
};

}  // namespace pando::serve
