#include "api/open_loop.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "api/ranks.h"
#include "base/check.h"
#include "base/errors.h"
#include "base/failures.h"
#include "base/fp_state.h"
#include "base/machine.h"
#include "contract/ranks.h"
#include "engine/options.h"
#include "engine/technique.h"
#include "pando/inspect.h"

namespace pando {
namespace {

ExecutorOptions executor_options(const LoopOptions& options, const Technique& technique) {
  const EngineOptions& engine = options.engine;
  return {.kv = {.type = kv_dtype(engine.kv_type),
                 .memory = engine.kv_memory,
                 .context = engine.context,
                 .page_len = options.page_len,
                 .tile_len = options.tile_len,
                 .span_len = options.span_len,
                 // Not if positions are divided over ranks.
                 .window_pages = technique.executor == nullptr &&
                                 (options.ranks == nullptr || options.ranks->layout.kvp == 1),
                 .n_window_pages = options.n_window_pages,
                 .n_slots = options.n_slots},
          .all_rows = options.all_rows,
          .poison_pages = options.poison_pages};
}

// The KV memory of one process.
Result<KvRoom> kv_room(const Device& device, const model::ModelSpec& spec,
                       const Technique& technique, const KvOptions& options) {
  return technique.executor == nullptr ? device.kv_room(spec, options)
                                       : technique.executor->kv_room(device, spec, options);
}

// The technique and the KV memory of an engine.
struct KvUse {
  Technique technique;
  KvOptions options;

  Result<KvRoom> room_of(const Model::Parts& model) const {
    return kv_room(*model.device, model.files->config, technique, options);
  }
};

// Memory of a device's own that the weights leave; absent: it computes in the machine's.
std::optional<DeviceMemory> memory_of(const Device& device, const DeviceModel* weights) {
  const uint64_t all = device.own_memory_bytes();
  if (all == 0) return {};
  const uint64_t taken = weights == nullptr ? 0 : weights->weight_bytes();
  return DeviceMemory{all, all - std::min(all, taken)};
}

// Fills in options for a device. The default memory of keys and values fits into one buffer.
Status fill_in_for(const Device& device, const DeviceModel* weights, int max_positions,
                   EngineOptions& options) {
  const bool is_default = options.kv_memory == 0;
  if (Status status = fill_in(options, max_positions, memory_of(device, weights)); !status)
    return status;
  if (const size_t most = device.largest_buffer_bytes(); is_default && most > 0)
    options.kv_memory = std::min(options.kv_memory, most);
  return {};
}

Result<KvUse> kv_use(const Model::Parts& model, const EngineOptions& options) {
  LoopOptions loop{.engine = options};
  if (Status status = fill_in_for(*model.device, model.weights.get(),
                                  model.files->config.max_positions, loop.engine);
      !status)
    return status.error();
  Result<Technique> technique = make_technique(loop.engine.sharing, loop.tile_len);
  if (!technique) return technique.error();
  const KvOptions kv = executor_options(loop, *technique).kv;
  return KvUse{std::move(*technique), kv};
}

// depth: LoopOptions.
RankShape shape_of(const RankLayout& layout, int depth) {
  const auto n_stages = static_cast<uint32_t>(layout.spp),
             n_parts = static_cast<uint32_t>(layout.kvp);
  const uint32_t most = depth == 0 ? n_stages : std::min(static_cast<uint32_t>(depth), n_stages);
  return {.n_stages = n_stages,
          .depth = most,
          .slice_rows = n_stages > 1 ? layout.slice_rows * n_parts : 0,
          .n_parts = n_parts,
          .block_len = layout.kvp_tokens,
          .part_rows = layout.rows_each};
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
  if (technique.executor != nullptr) {
    if (spec.both_ways)
      return unsupported(
          "sharing '{}' does not run models whose rows see both ways, such as {}, expected 'tree', "
          "'prefix_cached' or 'packed'",
          engine.sharing, spec.family_name);
    if (ranks != nullptr)
      return unsupported(
          "sharing '{}' does not run on several processes, expected 'tree', 'prefix_cached' or "
          "'packed'",
          engine.sharing);
    if (Status status = technique.executor->check(weights, engine); !status) return status.error();
  }
  const Result<KvRoom> room = ranks == nullptr
                                  ? kv_room(device, spec, technique, computing.kv)
                                  : kv_room_on_ranks(device, spec, computing.kv, ranks->layout);
  if (!room) return room.error();
  Result<std::string> isa = device.isa_name(engine.isa);
  if (!isa) return isa.error();
  engine.isa = computing.isa = std::move(*isa);
  if (ranks != nullptr) parts.ranks = shape_of(ranks->layout, parts.options.depth);
  if (spec.both_ways) engine.policy = "fcfs", engine.step_budget = 0;  // TextRunner's own order
  Result<std::unique_ptr<StepTiming>> timing =
      StepTiming::create(engine, parts.options.many_prefills, parts.ranks);
  if (!timing) return timing.error();
  if (*timing != nullptr && technique.batcher != nullptr)
    return invalid_option(
        "sharing",
        "'{}' forms its own batches of whole prompts, expected policy fcfs and no step_budget",
        engine.sharing);
  parts.timing = std::move(*timing);
  // Forced tokens are several rows of an answer in a step (see ExecutorMaker).
  parts.options.forces_tokens &= technique.executor == nullptr;
  parts.planner = std::move(technique.planner);
  parts.batcher = std::move(technique.batcher);
  parts.figures = std::move(technique.figures);
  parts.max_positions = spec.max_positions;
  parts.n_token_types = spec.n_token_types;
  parts.pool = std::make_unique<ThreadPool>(engine.threads, engine.nice);
  if (technique.executor != nullptr) {
    parts.executor = technique.executor->open(weights, engine, computing, *room, *parts.pool);
  } else if (ranks == nullptr || ranks->layout.n_ranks() == 1) {
    parts.executor = weights.open(computing, *room, *parts.pool);
  } else {
    parts.executor = open_on_ranks(weights, computing, *room, *parts.pool, *ranks);
  }
  return std::make_unique<EngineLoop>(std::move(parts));
}

Result<std::unique_ptr<EngineLoop>> open(const DeviceModel& weights, const Tokenizer* tokenizer,
                                         grammar::FormCache* forms, const AnswerFormat* answers,
                                         const LoopOptions& options) {
  LoopParts parts{.options = options,
                  .tokenizer = tokenizer,
                  .forms = forms,
                  .answers = answers,
                  .end_ids = weights.spec().eos_ids};
  EngineOptions& engine = parts.options.engine;
  const bool is_default = engine.kv_memory == 0;
  if (Status status =
          fill_in_for(weights.device(), &weights, weights.spec().max_positions, engine);
      !status)
    return status.error();
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
                      "not enough memory for {} bytes of keys and values and a context of {} "
                      "positions: at least {}",
                      kv_memory, context, shortage_text(kv_memory + n_fixed));
  } catch (const std::system_error& error) {
    return cannot_start(fmt::format("{} threads", threads), error.what());
  } catch (const std::runtime_error& error) {  // of a device
    return make_error(ErrorCode::kUnavailable, "{}", error.what());
  }
}

}  // namespace

Result<size_t> longest_sequence(const Model& model, const EngineOptions& options) {
  const Model::Parts& parts = model.parts();
  const Result<KvUse> kv = kv_use(parts, options);
  if (!kv) return kv.error();
  const Result<KvRoom> room = kv->room_of(parts);
  if (!room) return room.error();
  return std::min(static_cast<size_t>(kv->options.context), room->longest_path());
}

Result<size_t> kv_memory_for(const Model& model, const EngineOptions& options, size_t n_tokens) {
  const Model::Parts& parts = model.parts();
  Result<KvUse> kv = kv_use(parts, options);
  if (!kv) return kv.error();
  const auto is_enough = [&](size_t memory) {
    kv->options.memory = memory;
    const Result<KvRoom> room = kv->room_of(parts);
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
    return open(*model.weights, model.tokenizer.get(), model.forms.get(), &model.answers, of_model);
  const RankGroup ranks = model.ranks->impl().ranks();
  of_model.ranks = &ranks;
  return open(*model.weights, model.tokenizer.get(), model.forms.get(), &model.answers, of_model);
}

Result<std::unique_ptr<EngineLoop>> open_loop(const DeviceModel& weights,
                                              const LoopOptions& options,
                                              const Tokenizer* tokenizer, grammar::FormCache* forms,
                                              const AnswerFormat* answers) {
  return open(weights, tokenizer, forms, answers, options);
}

}  // namespace pando
