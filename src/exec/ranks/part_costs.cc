#include "exec/ranks/part_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/errors.h"
#include "exec/cpu/cpu_device.h"
#include "exec/cpu/kernel/isa.h"
#include "exec/cpu/layers/products.h"
#include "exec/cpu/pack/tensor_loader.h"
#include "exec/share.h"

namespace pando::exec {
namespace {

// Smallest of a few times; a first run that is slow counts alone.
template <class Run>
double seconds_of(const Run& run) {
  using Clock = std::chrono::steady_clock;
  constexpr double kEnough = 0.2;
  constexpr int kRuns = 4;
  double best = 0, all = 0;
  for (int i = 0; i < kRuns && all < kEnough; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = i == 0 ? seconds : std::min(best, seconds);
    all += seconds;
  }
  return best;
}

// [n_rows, n] f32
std::vector<float> rows_of(uint32_t n_rows, int n) {
  std::vector<float> rows(size_t{n_rows} * n);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = std::sin(static_cast<float>(i % 9973));
  return rows;
}

// The rows of one prompt, in its first pages and the first state slots.
StepPlan typical_step(const KvOptions& kv, bool has_states) {
  const auto page_len = static_cast<uint32_t>(kv.page_len);
  const auto tile_len = static_cast<uint32_t>(kv.tile_len);
  const uint32_t n_pages = tile_len / page_len, end = kTypicalPast + kTypicalRows;
  StepPlan plan{.slot_begin = {0}};
  for (uint32_t position = kTypicalPast; position < end; ++position) {
    plan.tokens.push_back(0);
    plan.positions.push_back(position);
    plan.slots.push_back({position / page_len, position % page_len});
    plan.slot_begin.push_back(static_cast<uint32_t>(plan.slots.size()));
  }
  for (uint32_t tile = 0; tile * tile_len < end; ++tile) {
    const uint32_t first_row = std::max(tile * tile_len, kTypicalPast) - kTypicalPast;
    const auto first_page = static_cast<uint32_t>(plan.task_pages.size());
    plan.tasks.push_back({tile, first_row, kTypicalRows, first_page, n_pages});
    for (uint32_t page = 0; page < n_pages; ++page) plan.task_pages.push_back(first_page + page);
  }
  if (has_states) {
    plan.state_tasks = {{0, kTypicalRows, kNoStateSlot}};
    plan.state_writes = {{kTypicalRows - 1, 0}};
  }
  return plan;
}

class Measuring {
 public:
  Measuring(const Device& device, const model::ModelSpec& spec, const model::TensorSource& source,
            std::optional<DType> requantised, ThreadPool& pool)
      : device_(device), spec_(spec), source_(source), requantised_(requantised), pool_(pool) {}

  // The types and shapes of a layer's weights.
  Result<std::string> types(int layer) const {
    std::string all;
    for (const model::Role role : source_.roles(layer)) {
      const int expert = model::is_of_experts(role) ? 0 : -1;
      const Result<model::Tensors> tensors = source_.tensors({role, layer, expert});
      if (!tensors) return tensors.error();
      for (const auto& tensor : *tensors)
        all += fmt::format("{} {} {} {}\n", static_cast<int>(role), static_cast<int>(tensor->type),
                           static_cast<int>(tensor->widened.value_or(tensor->type)),
                           fmt::join(tensor->shape, " "));
    }
    return all;
  }

  // Runs the layer as a stage of its own.
  Result<PartCost> layer(int layer) const {
    const ModelShare share{.stage = 1, .n_stages = 3, .first_layer = layer, .end_layer = layer + 1};
    const Result<std::unique_ptr<DeviceModel>> model =
        device_.load(spec_, source_, {.requantised = requantised_, .share = share}, pool_);
    if (!model) return model.error();
    const Result<std::string> isa = device_.isa_name("");
    if (!isa) return isa.error();
    const model::ModelSpec own = spec_of_share(spec_, share);
    const bool has_states = own.n_recurrent_layers() > 0;
    const ExecutorOptions options{
        .isa = *isa,
        .kv = {.memory = size_t{1} << 36,  // enough for any layer; few pages are used
               .context = static_cast<int>(kTypicalPast + kTypicalRows),
               .n_slots = has_states ? size_t{2} : 0}};
    Result<KvRoom> room = device_.kv_room(own, options.kv);
    if (!room) return room.error();
    const StepPlan plan = typical_step(options.kv, has_states);
    room->n_pages = plan.task_pages.size();
    const std::unique_ptr<StageExecutor> executor = (*model)->open(options, *room, pool_);
    const std::vector<float> before = rows_of(kTypicalRows, spec_.d_model);
    return PartCost{
        .seconds = seconds_of([&] {
          executor->compute(plan, {0, kTypicalRows}, before.data());
        }),
        .weight_bytes = static_cast<double>((*model)->weight_bytes()),
        .key_bytes = static_cast<double>(device_.kv_bytes_per_token(own, options.kv.type))};
  }

  Result<PartCost> head() const {
    const Result<const kernel::Kernels*> kernels = kernel::kernels_by_name("");
    if (!kernels) return kernels.error();
    const Result<model::Tensors> tensors = source_.tensors({model::Role::kHead});
    if (!tensors) return tensors.error();
    constexpr int kSome = 8192;  // rows
    const WeightRows some = {0, std::min(spec_.vocab, kSome)};
    Stack head;
    const TensorLoader loader(source_, requantised_, **kernels);
    if (Status status = loader.stack(*tensors, {&some, 1}, /*is_router=*/false, head); !status)
      return status.error();
    PhaseTimes times;
    Products products(**kernels, pool_, times);
    const int64_t n = spec_.d_model;
    const std::vector<float> rows = rows_of(kTypicalLogits, spec_.d_model);
    std::vector<float> logits(size_t{kTypicalLogits} * some.second);
    const double seconds = seconds_of([&] {
      products.multiply(
          head, kTypicalLogits, [&](int row, float*) { return rows.data() + row * n; },
          logits.data());
    });
    const double n_times = static_cast<double>(spec_.vocab) / some.second;
    double n_bytes = 0;
    for (const kernel::PackedMatrix& matrix : head) n_bytes += static_cast<double>(matrix.bytes());
    return PartCost{.seconds = seconds * n_times, .weight_bytes = n_bytes * n_times};
  }

 private:
  const Device& device_;
  const model::ModelSpec& spec_;
  const model::TensorSource& source_;
  std::optional<DType> requantised_;
  ThreadPool& pool_;
};

}  // namespace

Result<PartCosts> measure_parts(const Device& device, const model::ModelSpec& spec,
                                const model::TensorSource& source, std::optional<DType> requantised,
                                ThreadPool& pool) {
  if (&device != &cpu_device())
    return unsupported("device '{}', expected '{}'", device.name(), cpu_device().name());
  const auto reads_keys = [](const model::LayerConfig& layer) { return layer.keys_back > 0; };
  if (spec.layer_input_dim > 0 || spec.both_ways || std::ranges::any_of(spec.layers, reads_keys))
    return unsupported("layers of {} need more than rows, expected none that do", spec.family_name);
  const Measuring measuring(device, spec, source, requantised, pool);
  struct Kind {
    model::LayerConfig layer;
    std::string types;
    PartCost cost;
  };
  std::vector<Kind> kinds;
  PartCosts costs{.layers = std::vector<PartCost>(spec.n_layers()), .head = {}};
  for (int layer = 0; layer < spec.n_layers(); ++layer) {
    const model::LayerConfig& config = spec.layers[layer];
    const Result<std::string> types = measuring.types(layer);
    if (!types) return types.error();
    auto kind = std::ranges::find_if(
        kinds, [&](const Kind& k) { return k.layer == config && k.types == *types; });
    if (kind == kinds.end()) {
      const Result<PartCost> cost = measuring.layer(layer);
      if (!cost) return cost.error();
      kind = kinds.insert(kind, {config, *types, *cost});
    }
    costs.layers[layer] = kind->cost;
  }
  const Result<PartCost> head = measuring.head();
  if (!head) return head.error();
  costs.head = *head;
  return costs;
}

}  // namespace pando::exec
