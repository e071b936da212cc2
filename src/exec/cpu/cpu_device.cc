#include "exec/cpu/cpu_device.h"

#include <fmt/format.h>

#include <set>
#include <utility>

#include "base/errors.h"
#include "base/machine.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/cpu_executor.h"
#include "exec/cpu/kernel/isa.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/share.h"

namespace pando::exec {
namespace {

class CpuDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string description() const override {
    const Result<std::string> isa = isa_name("");
    return fmt::format("{}, {}", processor_name(), isa ? *isa : isa.error().message());
  }
  uint64_t memory_bytes() const override { return total_memory().value_or(0); }
  bool divides_rows() const override { return true; }

  Result<std::string> isa_name(std::string_view isa) const override {
    const Result<const kernel::Kernels*> kernels = kernel::kernels_by_name(isa);
    if (!kernels) return kernels.error();
    return std::string((*kernels)->name);
  }
  std::vector<std::string> warnings() const override { return kernel::refused_kernels(); }

  Result<std::vector<KernelCheck>> check_kernels() const override {
    return invalid_option("device", "is '{}', expected emulated, opencl or cuda", name());
  }

  Result<std::unique_ptr<DeviceModel>> load(const model::ModelSpec& spec,
                                            const model::TensorSource& source,
                                            const WeightOptions& options,
                                            ThreadPool& pool) const override {
    const Result<const kernel::Kernels*> kernels = kernel::kernels_by_name("");
    if (!kernels) return kernels.error();
    Result<Weights> weights =
        Weights::load(spec, source, options.requantised, **kernels, pool, options.share);
    if (!weights) return weights.error();
    return std::unique_ptr<DeviceModel>(std::make_unique<CpuModel>(std::move(*weights)));
  }

  uint64_t weight_bytes(const model::ModelSpec& spec, const model::TensorSource& source,
                        const WeightOptions& options) const override {
    return bytes_needed(spec, source, options.requantised);
  }

  // Sines and cosines for all positions.
  uint64_t fixed_bytes(const model::ModelSpec& spec, int context) const override {
    std::set<std::pair<int, int>> tables;  // rotation, and channels that may turn
    for (int i = 0; i < spec.n_layers(); ++i)
      if (spec.layers[i].mixer == model::Mixer::kAttention)
        tables.emplace(spec.layers[i].rotation, spec.rotated_dim(i));
    uint64_t n_channels = 0;
    for (const auto& [rotation, dim] : tables)
      n_channels += static_cast<uint64_t>(spec.rotations[rotation].rotary_dim(dim));
    return n_channels * sizeof(float) * static_cast<uint64_t>(context);
  }

  Result<KvRoom> kv_room(const model::ModelSpec& spec, const KvOptions& options) const override {
    const Result<KvSizes> sizes = KvSizes::of(spec, options);
    if (!sizes) return sizes.error();
    return sizes->room();
  }

  size_t kv_bytes_per_token(const model::ModelSpec& spec, DType type) const override {
    const KvRoom room = KvSizes::shapes_of(spec, {.type = type}).room();
    return room.page_bytes / static_cast<size_t>(room.page_len);
  }
};

}  // namespace

const Device& cpu_device() {
  static const CpuDevice device;
  return device;
}

const Device& CpuModel::device() const { return cpu_device(); }

std::string CpuModel::weight_type() const {
  for (const LayerWeights& layer : weights_.layers)
    if (const Stack* stack = layer.first_feed_forward(); stack != nullptr)
      return std::string(dtype_name((*stack)[0].type()));
  return "none";
}

std::unique_ptr<StageExecutor> CpuModel::open(const ExecutorOptions& options, const KvRoom& room,
                                              ThreadPool& pool,
                                              const RankExchange& exchange) const {
  const KvSizes sizes =
      KvSizes::in_room(spec_of_share(weights_.spec, weights_.share), options.kv, room);
  return std::make_unique<CpuExecutor>(weights_, pool, options, sizes, exchange);
}

}  // namespace pando::exec
