// A model that is loaded, with its engine and what answers its requests.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/step_turns.h"
#include "serve/models/model_recipe.h"
#include "serve/service.h"

namespace pando::serve {

struct ServedModel {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Service> service;  // goes first
  size_t n_bytes = 0;                // weights, keys and values
};

// All models of a server have these in common.
struct SharedParts {
  ServerOptions options;  // with the names of all models
  std::shared_ptr<ResponseDatabase> responses;
  std::shared_ptr<StepTurns> turns;
};

// Opens the engine of a loaded model. `room`: bytes for its keys and values, or what is left of the
// budget where the model has a part of it. Errors: as Engine::open and PublicPrefixes::make.
Result<std::shared_ptr<ServedModel>> open_served(const ModelRecipe& recipe, LoadedModel loaded,
                                                 size_t room, const SharedParts& shared);

// Bytes of keys and values that it cannot do without: what it was given, or enough for a prompt.
// Errors: as Engine::open.
Result<size_t> least_room(const ModelRecipe& recipe, const LoadedModel& loaded);

}  // namespace pando::serve
