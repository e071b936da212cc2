// Costs of steps, kept between runs.
#include "pando/step_costs.h"

#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <fstream>
#include <iterator>
#include <new>
#include <optional>

#include "api/open_loop.h"
#include "api/ranks.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/machine.h"
#include "base/write_file.h"
#include "engine/measure_steps.h"
#include "engine/options.h"
#include "pando/version.h"
#include "schedule/predictor.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using json = Json;

constexpr int kWay = 4;  // version of the method: files of another version are measured again

// Name of the file of costs: two models of one shape take the same time and share it.
Result<std::string> name_of(const Model& model, const EngineOptions& options) {
  EngineOptions full = options;
  full.kv_memory = 0;  // does not count
  if (Status status = fill_in(full, model.parts().files->config.max_positions); !status)
    return status.error();
  const Result<std::string> isa = model.parts().device->isa_name(full.isa);
  if (!isa) return isa.error();
  const ModelInfo info = model.info();
  std::string ranks;
  if (model.parts().ranks != nullptr) {
    const RankLayout& layout = model.parts().ranks->impl().layout;
    ranks =
        fmt::format("; {}, {} positions, {}", layout.name(), layout.kvp_tokens, layout.division());
  }
  return fmt::format(
      "{}, {} parameters, {} layers of {}, vocabulary {}, {}; kv {}, {}; {}, {} "
      "threads, {}; {}, {}{}",
      info.family, info.n_parameters, info.n_layers, info.d_model, info.vocab, info.weight_type,
      static_cast<int>(full.kv_type), full.sharing, *isa, full.threads, processor_name(), version(),
      kWay, ranks);
}

// Refuses options that no engine takes, before time is spent on measuring.
Status check_options(const Model& model, EngineOptions options) {
  if (model.parts().weights == nullptr)
    return invalid_argument(
        "the model was loaded without its weights, expected a model with weights");
  options.policy = "fcfs";  // it needs no costs
  options.step_budget = 0;
  const auto loop = open_loop(model.parts(), {.engine = options});
  return loop ? Status() : loop.error();
}

// Nothing if the file is absent, broken, of another name, disturbed, or with costs that no engine
// would take.
std::optional<MeasuredSteps> read(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const json all = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object() || all.value("of", json()) != name) return std::nullopt;
  try {
    MeasuredSteps steps{.costs = sorted_json(all.at("step_costs")).dump(),
                        .median_error = all.at("median_error"),
                        .repeat_noise = all.at("repeat_noise"),
                        .n_steps = all.at("steps"),
                        .n_repeats = all.at("repeats")};
    const Result<Predictor> predictor = Predictor::from_json(steps.costs, path.string());
    if (!predictor || !(predictor->seconds({.rows = 1}) > 0) || steps.disturbed())
      return std::nullopt;
    return steps;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

// Writes the whole file or nothing, even if another process writes it too.
Status write(const fs::path& path, const std::string& name, const MeasuredSteps& steps) {
  const json all = {{"of", name},
                    {"step_costs", json::parse(steps.costs)},
                    {"median_error", steps.median_error},
                    {"repeat_noise", steps.repeat_noise},
                    {"steps", steps.n_steps},
                    {"repeats", steps.n_repeats}};
  std::error_code failure, ignored;
  fs::create_directories(path.parent_path(), failure);
  if (failure)
    return io_error("cannot create '{}': {}", path.parent_path().string(), failure.message());
  const fs::path whole = fmt::format("{}.{}", path.string(), getpid());
  Status status = write_file(whole, sorted_json(all).dump(1) + "\n");
  if (status) {
    fs::rename(whole, path, failure);
    if (failure) status = io_error("cannot write '{}': {}", path.string(), failure.message());
  }
  if (!status) fs::remove(whole, ignored);
  return status;
}

}  // namespace

bool MeasuredSteps::good() const {
  return FitReport{.median_error = median_error, .repeat_noise = repeat_noise}.good();
}

bool MeasuredSteps::disturbed() const { return repeat_noise > 0.25 || n_repeats < kFewestRepeats; }

std::string MeasuredSteps::in_words() const {
  return fmt::format("measured {} step{}, predicted with a median error of {:.1f}%; {}", n_steps,
                     n_steps == 1 ? "" : "s", 100 * median_error,
                     n_repeats == 0
                         ? "none was measured twice"
                         : fmt::format("equal steps differ by {:.1f}%", 100 * repeat_noise));
}

Result<MeasuredSteps> measure_steps(const Model& model, const EngineOptions& options,
                                    double seconds, const std::function<void()>& between) {
  if (model.parts().weights == nullptr)
    return invalid_argument(
        "the model was loaded without its weights, expected a model with weights");
  try {
    const OpenLoop open = [&](const LoopOptions& of_loop) {
      return open_loop(model.parts(), of_loop);
    };
    return measure_steps(open, options, seconds, between);
  } catch (const std::bad_alloc&) {
    return make_error(ErrorCode::kUnavailable, "not enough memory to measure step times: {}",
                      free_text());
  }
}

Result<MeasuredSteps> saved_steps(const fs::path& folder, const Model& model,
                                  const EngineOptions& options, double seconds,
                                  const std::function<void()>& before,
                                  const std::function<void()>& between) {
  const Result<std::string> name = name_of(model, options);
  if (!name) return name.error();
  const fs::path path =
      folder / fmt::format("steps-{:016x}.json", XXH3_64bits(name->data(), name->size()));
  std::optional<MeasuredSteps> kept = read(path, *name);
  if (!kept) {
    if (Status status = check_options(model, options); !status) return status.error();
    if (before) before();
    Result<MeasuredSteps> steps = measure_steps(model, options, seconds, between);
    if (!steps) return steps.error();
    kept = *std::move(steps);
    if (const Status status = write(path, *name, *kept); !status) {
      kept->not_kept = status.error().message();
      return *std::move(kept);
    }
  }
  kept->file = path;
  return *std::move(kept);
}

Result<double> predicted_seconds(const std::string& costs, const StepWork& work) {
  const Result<Predictor> predictor = Predictor::from_json(costs, "step costs");
  if (!predictor) return predictor.error();
  return predictor->seconds(
      {.rows = work.rows, .outputs = work.outputs, .keys = work.keys, .reads = work.reads});
}

}  // namespace pando
