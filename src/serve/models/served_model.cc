#include "serve/models/served_model.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "api/engine.h"
#include "pando/inspect.h"

namespace pando::serve {
namespace {

constexpr int kLeastTokens = 4096;  // of a prompt and its answer

// Turns of a measurement, the last of which is given back whatever ends it.
class MeasuringTurns {
 public:
  explicit MeasuringTurns(StepTurns& turns) : turns_(turns) {}
  ~MeasuringTurns() { turns_.give_back(claim_); }
  MeasuringTurns(const MeasuringTurns&) = delete;
  MeasuringTurns& operator=(const MeasuringTurns&) = delete;
  // Steps of others that have to begin by now go first.
  void take() { turns_.take(claim_, StepTurns::Clock::now()); }

 private:
  StepTurns& turns_;
  StepTurns::Claim claim_;
};

}  // namespace

Result<size_t> least_room(const ModelRecipe& recipe, const LoadedModel& loaded) {
  if (recipe.kv_memory > 0) return recipe.kv_memory;
  const int longest =
      loaded.options.context > 0 ? loaded.options.context : loaded.model->info().max_positions;
  const bool is_whole = !loaded.model->info().gives_logits;  // rows of a text stay together
  return kv_memory_for(*loaded.model, loaded.options,
                       static_cast<size_t>(is_whole ? longest : std::min(longest, kLeastTokens)));
}

Result<std::shared_ptr<ServedModel>> open_served(const ModelRecipe& recipe, LoadedModel loaded,
                                                 size_t room, const SharedParts& shared) {
  auto served = std::make_shared<ServedModel>();
  EngineOptions& engine = loaded.options;
  engine.kv_memory = room;
  if (recipe.measure) {
    MeasuringTurns turns(*shared.turns);
    turns.take();
    const Status status = recipe.measure(*loaded.model, engine, [&] { turns.take(); });
    if (!status) return status.error();
  }
  Result<std::unique_ptr<Engine>> opened =
      open_engine(loaded.model, {.engine = engine, .turns = shared.turns});
  if (!opened) return opened.error();
  served->engine = std::move(*opened);
  served->n_bytes = loaded.model->info().weight_bytes + room;
  ServerOptions options = shared.options;
  options.model_names = {recipe.name};
  options.any_model_name = false;
  options.defaults = std::move(loaded.defaults);
  options.files_fingerprint = std::move(loaded.files_fingerprint);
  Result<PublicPrefixes> prefixes =
      PublicPrefixes::make(*loaded.model, options.public_prefixes,
                           static_cast<size_t>(served->engine->options().context));
  if (!prefixes) return prefixes.error();
  Result<ApiKeys> no_keys = ApiKeys::parse({});
  if (!no_keys) return no_keys.error();
  served->service =
      std::make_unique<Service>(*served->engine, options, ServerKeys{*no_keys, *no_keys},
                                std::move(*prefixes), shared.responses, nullptr);
  return served;
}

}  // namespace pando::serve
