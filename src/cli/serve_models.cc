#include "cli/serve_models.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "base/machine.h"
#include "cli/cache_directory.h"
#include "cli/models_file.h"
#include "cli/print_stderr.h"
#include "pando/model_files.h"
#include "pando/step_costs.h"
#include "serve/batch_runner.h"

namespace pando::cli {
namespace {

constexpr size_t kUnknownBudget = size_t{4} << 30;  // if the system does not say what is free

// Bytes of its files of weights.
Result<size_t> weights_on_disk(const ModelArguments& arguments) {
  const Result<std::filesystem::path> path = model_path(arguments);
  if (!path) return path.error();
  const Result<std::vector<std::filesystem::path>> files = files_of_model(*path);
  if (!files) return files.error();
  size_t n_bytes = 0;
  for (const std::filesystem::path& file : *files) {
    std::error_code failure;
    if (file.extension() != ".gguf" && file.extension() != ".safetensors") continue;
    const uintmax_t size = std::filesystem::file_size(file, failure);
    if (!failure) n_bytes += size;
  }
  return n_bytes;
}

Result<serve::LoadedModel> load_of_set(const FileModel& one) {
  ModelArguments arguments = one.model;
  const Result<std::filesystem::path> path = model_path(arguments);
  if (!path) return path.error();
  arguments.files = ModelPath(*path);
  Result<std::optional<GenerationConfig>> defaults =
      find_defaults(one.generation, *arguments.files);
  if (!defaults) return defaults.error();
  Result<std::shared_ptr<const Model>> model = load_model(arguments);
  if (!model) return model.error();
  serve::LoadedModel loaded{.model = std::move(*model), .options = engine_options(arguments)};
  if (*defaults) loaded.defaults = std::move(**defaults);
  return loaded;
}

}  // namespace

// Fills in how long steps take, where policy or budget ask for it.
Status learn_steps(const Model& model, EngineOptions& options,
                   const std::function<void()>& between) {
  static constexpr int kSeconds = 8;
  if (options.policy == "fcfs" && options.step_budget == 0) return {};
  if (!model.info().gives_logits) return {};  // an engine takes its texts in order
  const std::filesystem::path folder = cache_directory();
  const auto before = [] {
    print_stderr("pando: measuring step times, which takes about {} s ({} s for a large model)\n",
                 kSeconds, MeasuredSteps::kMostTimes * kSeconds);
  };
  Result<MeasuredSteps> steps = saved_steps(folder, model, options, kSeconds, before, between);
  if (!steps) return steps.error();
  print_stderr("pando: {}\n", steps->in_words());
  const bool kept = !steps->file.empty();
  if (!kept)
    print_stderr("pando: step times are not saved: {}; the next start measures them again\n",
                 steps->not_kept);
  if (steps->disturbed())
    print_stderr("pando: {}{}\n",
                 steps->n_repeats < MeasuredSteps::kFewestRepeats
                     ? "too few step times were measured twice"
                     : "other work disturbed the step times",
                 kept ? "; the next start measures them again" : "");
  else if (!steps->good())
    print_stderr(
        "pando: predicted step times are less accurate than usual, so steps are kept shorter\n");
  options.step_costs = std::move(steps->costs);
  return {};
}

Result<std::unique_ptr<serve::ModelSet>> open_model_set(const ServeOptions& o) {
  ModelArguments common = o.model;
  common.engine.step_budget = 1e-3 * o.step_budget_ms;
  Result<std::vector<FileModel>> models = read_models_file(o.models_file, common);
  if (!models) return models.error();
  std::vector<serve::ModelRecipe> recipes;
  for (FileModel& one : *models) {
    const size_t kv_memory = one.model.engine.kv_memory;
    const auto shared = std::make_shared<const FileModel>(std::move(one));
    recipes.push_back({.name = shared->name,
                       .kv_memory = kv_memory,
                       .size = [shared] { return weights_on_disk(shared->model); },
                       .load = [shared] { return load_of_set(*shared); },
                       .measure = learn_steps});
  }
  const size_t free = available_memory().value_or(kUnknownBudget);
  return serve::ModelSet::open(o.server,
                               {.memory = o.memory > 0 ? o.memory : free / 4 * 3,
                                .nice = common.engine.nice,
                                .max_batched = serve::most_batched(common.engine)},
                               std::move(recipes));
}

}  // namespace pando::cli
