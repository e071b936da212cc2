#include "lab/techniques/pass_executor.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/errors.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/cpu_device.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/kernel/isa.h"

namespace pando::lab {
namespace {

double row_products(const exec::Weights& weights) {
  const model::ExpertsConfig& experts = weights.spec.experts;
  const double used = static_cast<double>(experts.n_used) / std::max(1, experts.n_experts);
  double n = 0;
  for (const exec::LayerWeights& layer : weights.layers)
    layer.each_matrix([&](const kernel::PackedMatrix& matrix, bool of_expert) {
      n += static_cast<double>(matrix.n()) * matrix.k() * (of_expert ? used : 1);
    });
  // Products of integers in blocks take half the time with AVX-512, a third with AMX.
  constexpr double kIntegersFaster = 2.5;
  const WeightTypeInfo& type = info_of(weights.layers[0].o.type());
  return type.block_len > 1 || type.type == DType::kI8 ? n / kIntegersFaster : n;
}

// The model as far as pages of one layer are concerned.
model::ModelSpec first_layer_of(model::ModelSpec spec) {
  const auto first =
      std::ranges::find(spec.layers, model::Mixer::kAttention, &model::LayerConfig::mixer);
  if (first != spec.layers.end()) spec.layers = {*first};
  return spec;
}

// True if all layers with attention have the same heads, and keys of their own.
bool has_equal_layers(const model::ModelSpec& spec) {
  std::optional<model::Heads> before;
  for (int i = 0; i < spec.n_layers(); ++i) {
    const model::LayerConfig& layer = spec.layers[i];
    if (layer.mixer != model::Mixer::kAttention) continue;
    if (layer.keys_back > 0 || (before && *before != spec.heads(i))) return false;
    before = spec.heads(i);
  }
  return true;
}

// One step at a time: `submit` keeps the plan, `finish` runs it.
class PassExecutor final : public Executor {
 public:
  // n_numbers: of pages that have no memory, where the technique has a store.
  PassExecutor(const exec::Weights& weights, ThreadPool& pool, const ExecutorOptions& options,
               const exec::KvSizes& sizes, const PassParts& parts, size_t n_numbers)
      : parts_(parts),
        facts_(exec::facts_of(weights, options, sizes)),
        poison_pages_(options.poison_pages),
        memory_(kept_shape(sizes, parts), parts.store != nullptr ? 0 : sizes.n_pages),
        written_(parts.one_layer ? kernel::KvView{.shape = sizes.pages[0]} : memory_.views()[0]),
        transformer_(weights, *kernel::kernels_by_name(options.isa).value(), pool,
                     {.context = options.kv.context,
                      .attention = parts.one_layer ? in_turn() : parts.attention,
                      .all_rows = options.all_rows}) {
    facts_.page_bytes = memory_.views()[0].page_bytes;
    facts_.keeps_keys = !parts.one_layer;
    if (parts.store == nullptr) return;
    facts_.n_pages = n_numbers;
    facts_.page_bytes = 0;
    parts.store->open({.shape = sizes.pages[0],
                       .n_heads = weights.spec.n_heads,
                       .n_threads = pool.n_threads(),
                       .row_products = row_products(weights)},
                      options.kv.memory);
  }

  const ExecutorFacts& facts() const override { return facts_; }

  void submit(StepPlan plan) override {
    PANDO_CHECK(!submitted_);
    submitted_ = std::move(plan);
  }

  void finish() override {
    PANDO_CHECK(submitted_.has_value());
    StepPlan plan = *std::exchange(submitted_, std::nullopt);
    if (poison_pages_) exec::poison_pages(memory_.views()[0], plan.copies, plan.slots);
    if (parts_.one_layer) take_writes(plan);
    hidden_ = transformer_.forward(plan, {0, plan.n_rows()}, {std::span(&written_, 1)}, {});
  }

  const float* hidden(uint32_t first, uint32_t) override {
    return hidden_ + size_t{first} * facts_.d_model;
  }
  void logits(uint32_t first, uint32_t n, float* out) override {
    transformer_.logits(hidden(first, n), n, out);
  }
  bool prepare(size_t n_touched, size_t) override { return memory_.prepare(n_touched); }
  size_t ready_bytes(size_t n_touched, size_t) const override {
    return memory_.ready_bytes(n_touched);
  }
  size_t kv_bytes(size_t n_used) const override {
    return parts_.store != nullptr ? parts_.store->n_bytes() : n_used * facts_.page_bytes;
  }
  PhaseTimes times() const override { return transformer_.times(); }

 private:
  static kernel::KvShape kept_shape(const exec::KvSizes& sizes, const PassParts& parts) {
    PANDO_CHECK(sizes.pages.size() == 1);  // `check` refuses layers with other heads
    kernel::KvShape shape = sizes.pages[0];
    if (parts.one_layer) shape.n_layers = 1;
    return shape;
  }

  // Each layer's attention writes the layer's keys and values over those of the layer before.
  exec::LayerAttention in_turn() {
    return [this](const exec::LayerPass& pass) {
      const kernel::KvView& pages = memory_.views()[0];
      kernel::write_kv(pass.kernels, pass.pool, {pages, 0, pass.keys, slot_begin_, slots_});
      kernel::AttentionArgs args = pass.args;
      args.kv = pages;
      args.layer = 0;
      if (!parts_.attention) return kernel::attention(pass.kernels, pass.pool, args, pass.scratch);
      parts_.attention(
          {pass.plan, pass.layer, args, pass.keys, pass.kernels, pass.pool, pass.scratch});
    };
  }

  // Leaves the forward pass nothing to copy or write.
  void take_writes(StepPlan& plan) {
    kernel::copy_pages(memory_.views()[0], plan.copies);
    plan.copies.clear();
    slots_ = std::exchange(plan.slots, {});
    slot_begin_ = std::exchange(plan.slot_begin, std::vector<uint32_t>(plan.n_rows() + 1, 0));
  }

  PassParts parts_;
  ExecutorFacts facts_;
  bool poison_pages_;
  exec::KvMemory memory_;
  kernel::KvView written_;            // the pages that the forward pass writes
  std::vector<uint32_t> slot_begin_;  // of the step, where layers write in turn
  std::vector<KvSlot> slots_;
  exec::Transformer transformer_;
  std::optional<StepPlan> submitted_;
  const float* hidden_ = nullptr;  // [outputs of the last step, d_model]
};

class PassMaker final : public ExecutorMaker {
 public:
  explicit PassMaker(PassParts parts) : parts_(std::move(parts)) {}

  Status check(const DeviceModel& model, const EngineOptions& engine) const override {
    const model::ModelSpec& spec = model.spec();
    const auto refuse = [&](std::string_view models) {
      return unsupported(
          "sharing '{}' does not support models {}, such as {}, expected 'tree', 'prefix_cached' "
          "or 'packed'",
          engine.sharing, models, spec.family_name);
    };
    if (dynamic_cast<const exec::CpuModel*>(&model) == nullptr)
      return unsupported("sharing '{}' does not run on the device '{}', expected 'cpu'",
                         engine.sharing, model.device().name());
    if (spec.n_recurrent_layers() > 0) return refuse("with recurrent layers");
    if (!has_equal_layers(spec))
      return refuse("whose layers have different heads or read the keys of others");
    if (spec.score_cap > 0.0f && !parts_.caps_scores) return refuse("with soft caps of scores");
    if (spec.attention_sinks && !parts_.takes_sinks) return refuse("with attention sinks");
    if (engine.kv_type == KvType::kInt8 && !parts_.takes_int8)
      return invalid_argument(
          "sharing '{}' cannot use keys and values in int8, expected f32, f16 or bf16",
          engine.sharing);
    return {};
  }

  Result<KvRoom> kv_room(const Device& device, const model::ModelSpec& spec,
                         const KvOptions& options) const override {
    return device.kv_room(parts_.one_layer ? first_layer_of(spec) : spec, options);
  }

  std::unique_ptr<Executor> open(const DeviceModel& model, const EngineOptions& engine,
                                 const ExecutorOptions& options, const KvRoom& room,
                                 ThreadPool& pool) const override {
    const auto& weights = dynamic_cast<const exec::CpuModel&>(model).weights();
    // As many pages as can be open at a time.
    const size_t longest = engine.context / options.kv.page_len + 1;
    return std::make_unique<PassExecutor>(weights, pool, options,
                                          exec::KvSizes::in_room(weights.spec, options.kv, room),
                                          parts_, longest * engine.max_running);
  }

 private:
  PassParts parts_;
};

}  // namespace

std::unique_ptr<ExecutorMaker> pass_executor(PassParts parts) {
  return std::make_unique<PassMaker>(std::move(parts));
}

}  // namespace pando::lab
