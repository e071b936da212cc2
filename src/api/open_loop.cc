#include "api/open_loop.h"

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "api/ranks.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/failures.h"
#include "base/fp_state.h"
#include "base/machine.h"
#include "base/option_names.h"
#include "contract/ranks.h"
#include "engine/options.h"
#include "engine/technique.h"
#include "pando/inspect.h"

namespace pando {
namespace {

ExecutorOptions executor_options(const LoopOptions& options, const Technique& technique) {
  const EngineOptions& engine = options.engine;
  const size_t longest = engine.context / options.page_len + 1;
  return {.kv = {.type = kv_dtype(engine.kv_type),
                 .memory = engine.kv_memory,
                 .context = engine.context,
                 .page_len = options.page_len,
                 .tile_len = options.tile_len,
                 .span_len = options.span_len,
                 .one_layer = technique.one_layer,
                 // Not if positions are divided over ranks.
                 .window_pages = technique.full_plans &&
                                 (options.ranks == nullptr || options.ranks->layout.kvp == 1),
                 .n_window_pages = options.n_window_pages,
                 .n_slots = options.n_slots},
          .all_rows = options.all_rows,
          .hooks = technique.hooks,
          .n_numbers = longest * engine.max_running,  // as many as can be open at a time
          .poison_pages = options.poison_pages};
}

// Sizes of the KV memory of an engine with these options.
Result<KvOptions> kv_options(const Model& model, const EngineOptions& options) {
  LoopOptions loop{.engine = options};
  if (Status status = fill_in(loop.engine, model.parts().files->config.max_positions); !status)
    return status.error();
  const Result<Technique> technique = make_technique(loop.engine.sharing, loop.tile_len);
  if (!technique) return technique.error();
  return executor_options(loop, *technique).kv;
}

// True if layers with keys of their own differ in their heads.
bool has_several_heads(const model::ModelSpec& spec) {
  std::optional<model::Heads> first;
  for (int i = 0; i < spec.n_layers(); ++i) {
    const model::LayerConfig& layer = spec.layers[i];
    if (layer.mixer != model::Mixer::kAttention || layer.keys_back > 0) continue;
    if (first && *first != spec.heads(i)) return true;
    first = spec.heads(i);
  }
  return false;
}

// Opens the loop, given options and technique.
Result<std::unique_ptr<EngineLoop>> open(const DeviceModel& weights, Technique technique,
                                         LoopParts parts) {
  EngineOptions& engine = parts.options.engine;
  ExecutorOptions computing = executor_options(parts.options, technique);
  const model::ModelSpec& spec = weights.spec();
  const Device& device = weights.device();
  const RankGroup* ranks = std::exchange(parts.options.ranks, nullptr);
  PANDO_CHECK(ranks != nullptr || weights.share().is_whole());
  const Result<KvRoom> room = ranks == nullptr
                                  ? device.kv_room(spec, computing.kv)
                                  : kv_room_on_ranks(device, spec, computing.kv, ranks->layout);
  if (!room) return room.error();
  if (spec.n_recurrent_layers() > 0 && !technique.full_plans)
    return unsupported(
        "sharing '{}' does not support models with recurrent layers, such as {}, expected 'tree', "
        "'prefix_cached' or 'packed'",
        engine.sharing, spec.family_name);
  const auto reads_others = [](const model::LayerConfig& layer) { return layer.keys_back > 0; };
  if (!technique.full_plans &&
      (has_several_heads(spec) || std::ranges::any_of(spec.layers, reads_others)))
    return unsupported(
        "sharing '{}' does not support models whose layers have different heads or read the keys "
        "of others, such as {}, expected 'tree', 'prefix_cached' or 'packed'",
        engine.sharing, spec.family_name);
  if (spec.score_cap > 0.0f && !technique.caps_scores)
    return unsupported(
        "sharing '{}' does not support models with soft caps of scores, such as {}, expected "
        "'tree', 'prefix_cached' or 'packed'",
        engine.sharing, spec.family_name);
  if (spec.attention_sinks && !technique.takes_sinks)
    return unsupported(
        "sharing '{}' does not support models with attention sinks, such as {}, expected 'tree', "
        "'prefix_cached' or 'packed'",
        engine.sharing, spec.family_name);
  if (ranks != nullptr && !technique.full_plans)
    return unsupported(
        "sharing '{}' does not run on several processes, expected 'tree', 'prefix_cached' or "
        "'packed'",
        engine.sharing);
  if (engine.kv_type == KvType::kInt8 && !technique.takes_int8)
    return invalid_argument(
        "sharing '{}' cannot use keys and values in int8, expected f32, f16 or bf16",
        engine.sharing);
  Result<std::string> isa = device.isa_name(engine.isa);
  if (!isa) return isa.error();
  engine.isa = computing.isa = std::move(*isa);
  Result<std::unique_ptr<StepTiming>> timing =
      StepTiming::create(engine, parts.options.many_prefills);
  if (!timing) return timing.error();
  if (*timing != nullptr && technique.batcher != nullptr)
    return invalid_argument(
        "{} '{}' forms its own batches of whole prompts, expected {} fcfs and no {}",
        OptionName{"sharing"}, engine.sharing, OptionName{"policy"}, OptionName{"step_budget"});
  parts.timing = std::move(*timing);
  // Published techniques compute one row of an answer in a step.
  parts.options.forces_tokens &= technique.full_plans;
  parts.planner = std::move(technique.planner);
  parts.batcher = std::move(technique.batcher);
  parts.figures = std::move(technique.figures);
  parts.max_positions = spec.max_positions;
  parts.pool = std::make_unique<ThreadPool>(engine.threads, engine.nice);
  if (ranks == nullptr || ranks->layout.n_ranks() == 1) {
    parts.executor = weights.open(computing, *room, *parts.pool);
  } else {
    parts.executor = open_on_ranks(weights, computing, *room, *parts.pool, *ranks);
  }
  return std::make_unique<EngineLoop>(std::move(parts));
}

Result<std::unique_ptr<EngineLoop>> open(const DeviceModel& weights, const Tokenizer* tokenizer,
                                         grammar::FormCache* forms, const LoopOptions& options) {
  LoopParts parts{.options = options,
                  .tokenizer = tokenizer,
                  .forms = forms,
                  .end_ids = weights.spec().eos_ids};
  EngineOptions& engine = parts.options.engine;
  const bool is_default = engine.kv_memory == 0;
  if (Status status = fill_in(engine, weights.spec().max_positions); !status) return status.error();
  // Ranks may be on one machine.
  if (is_default && options.ranks != nullptr)
    engine.kv_memory /= static_cast<size_t>(options.ranks->layout.n_processes());
  Result<Technique> technique = make_technique(engine.sharing, options.tile_len);
  if (!technique) return technique.error();
  FpStateGuard fp_state;  // rotation factors are made here
  const int context = engine.context, threads = engine.threads;
  const size_t kv_memory = engine.kv_memory;
  try {
    return open(weights, std::move(*technique), std::move(parts));
  } catch (const std::bad_alloc&) {
    const uint64_t n_fixed = weights.device().fixed_bytes(weights.spec(), context);
    return make_error(ErrorCode::kUnavailable,
                      "not enough memory for a {} of {} bytes and a context of {} "
                      "positions: at least {}",
                      OptionName{"kv_memory"}, kv_memory, context,
                      shortage_text(kv_memory + n_fixed));
  } catch (const std::system_error& error) {
    return cannot_start(fmt::format("{} threads", threads), error.what());
  }
}

}  // namespace

Result<size_t> longest_sequence(const Model& model, const EngineOptions& options) {
  const Model::Parts& parts = model.parts();
  const Result<KvOptions> kv = kv_options(model, options);
  if (!kv) return kv.error();
  const Result<KvRoom> room = parts.device->kv_room(parts.files->config, *kv);
  if (!room) return room.error();
  return std::min(static_cast<size_t>(kv->context), room->longest_path());
}

Result<size_t> kv_memory_for(const Model& model, const EngineOptions& options, size_t n_tokens) {
  const Model::Parts& parts = model.parts();
  Result<KvOptions> kv = kv_options(model, options);
  if (!kv) return kv.error();
  const auto is_enough = [&](size_t memory) {
    kv->memory = memory;
    const Result<KvRoom> room = parts.device->kv_room(parts.files->config, *kv);
    return room.ok() && room->longest_path() >= n_tokens;
  };
  constexpr size_t kMost = size_t{1} << 50;  // no machine has it
  size_t enough = 1;
  while (!is_enough(enough))
    if ((enough *= 2) > kMost) return size_t{0};
  for (size_t too_little = enough / 2; enough - too_little > 1;) {
    const size_t middle = too_little + (enough - too_little) / 2;
    (is_enough(middle) ? enough : too_little) = middle;
  }
  return enough;
}

Result<std::unique_ptr<EngineLoop>> open_loop(const Model::Parts& model,
                                              const LoopOptions& options) {
  LoopOptions of_model = options;
  of_model.all_rows |= model.all_rows;
  if (model.ranks == nullptr)
    return open(*model.weights, model.tokenizer.get(), model.forms.get(), of_model);
  const RankGroup ranks = model.ranks->impl().ranks();
  of_model.ranks = &ranks;
  return open(*model.weights, model.tokenizer.get(), model.forms.get(), of_model);
}

Result<std::unique_ptr<EngineLoop>> open_loop(const DeviceModel& weights,
                                              const LoopOptions& options,
                                              const Tokenizer* tokenizer,
                                              grammar::FormCache* forms) {
  return open(weights, tokenizer, forms, options);
}

}  // namespace pando
