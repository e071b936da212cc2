// A loaded model with its engine and the service that answers its requests.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/step_turns.h"
#include "serve/models/model_recipe.h"
#include "serve/service.h"

namespace pando::serve {

struct ServedModel {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Service> service;  // destroyed first
  size_t n_bytes = 0;                // weights, keys and values
};

// Parts that all models of a server share.
struct SharedParts {
  ServerOptions options;  // with the names of all models
  std::shared_ptr<ResponseDatabase> responses;
  std::shared_ptr<StepTurns> turns;
};

// Opens the engine of a loaded model. `room`: bytes for its keys and values, or the rest of the
// budget if the model gets a share of it. Errors: those of Engine::open and PublicPrefixes::make.
Result<std::shared_ptr<ServedModel>> open_served(const ModelRecipe& recipe, LoadedModel loaded,
                                                 size_t room, const SharedParts& shared);

// Least bytes for its keys and values: the given number, or enough for one prompt. Errors: those of
// Engine::open.
Result<size_t> least_room(const ModelRecipe& recipe, const LoadedModel& loaded);

}  // namespace pando::serve
