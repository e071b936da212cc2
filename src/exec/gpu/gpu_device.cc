#include "exec/gpu/gpu_device.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/errors.h"
#include "base/failures.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/cpu_device.h"
#include "exec/gpu/head_ops.h"
#include "exec/gpu/start_test.h"
#include "exec/share.h"

namespace pando::exec {

Status check_gpu_model(const model::ModelSpec& spec, std::string_view device) {
  const std::pair<bool, std::string_view> others[] = {
      {spec.n_recurrent_layers() > 0, "recurrent layers"},
      {spec.has_latent(), "latent attention"},
      {spec.both_ways, "rows that see both ways"},
      {spec.qk_norm == model::QkNorm::kFullWidth &&
           std::ranges::any_of(spec.layers, &model::LayerConfig::values_are_keys),
       "values that are keys, and one norm for all heads"}};
  for (const auto& [has_it, what] : others)
    if (has_it)
      return unsupported("the model ({}) has {}, expected attention and feed-forwards alone on {}",
                         spec.family_name, what, device);
  if (spec.widest_head() > gpu::kWidestHead)
    return unsupported("the model ({}) has heads of {} channels, expected at most {} on {}",
                       spec.family_name, spec.widest_head(), gpu::kWidestHead, device);
  return {};
}

Result<std::string> GpuDevice::isa_name(std::string_view isa) const {
  if (isa.empty() || isa == info_.name) return info_.name;
  return invalid_option("isa", "is '{}', expected '{}'", isa, info_.name);
}

Result<std::vector<KernelCheck>> GpuDevice::check_kernels() const {
  const Result<std::unique_ptr<gpu::Host>> host = info_.open_host();
  if (!host) return host.error();
  try {
    return gpu::check_kernels(**host, gpu::CheckSize::kAll);
  } catch (const std::exception& error) {
    return unsupported("{}", reason_of(error));
  }
}

Result<std::unique_ptr<DeviceModel>> GpuDevice::load(const model::ModelSpec& spec,
                                                     const model::TensorSource& source,
                                                     const WeightOptions& options,
                                                     ThreadPool& pool) const {
  if (Status status = check_gpu_model(spec, info_.name); !status) return status.error();
  Result<std::unique_ptr<gpu::Host>> host = info_.make_host();
  if (!host) return host.error();
  Result<gpu::Weights> weights =
      gpu::Weights::load(**host, spec, source, options.requantised, options.share, pool);
  if (!weights) return weights.error();
  return std::unique_ptr<DeviceModel>(
      std::make_unique<GpuModel>(*this, std::move(*host), std::move(*weights)));
}

uint64_t GpuDevice::weight_bytes(const model::ModelSpec& spec, const model::TensorSource& source,
                                 const WeightOptions& options) const {
  return cpu_device().weight_bytes(spec, source, options);
}

uint64_t GpuDevice::fixed_bytes(const model::ModelSpec& spec, int context) const {
  return cpu_device().fixed_bytes(spec, context);
}

Result<KvRoom> GpuDevice::kv_room(const model::ModelSpec& spec, const KvOptions& options) const {
  return cpu_device().kv_room(spec, options);
}

size_t GpuDevice::kv_bytes_per_token(const model::ModelSpec& spec, DType type) const {
  return cpu_device().kv_bytes_per_token(spec, type);
}

std::string GpuModel::weight_type() const {
  for (const gpu::LayerWeights& layer : model_.weights.layers) {
    const gpu::Stack& stack = layer.experts.empty()
                                  ? layer.stack(model::Role::kGateUp)
                                  : layer.experts[0].stack(model::Role::kExpertGateUp);
    if (!stack.empty()) return std::string(dtype_name(stack[0].type()));
  }
  return "none";
}

std::unique_ptr<StageExecutor> GpuModel::open(const ExecutorOptions& options, const KvRoom& room,
                                              ThreadPool& /*pool*/) const {
  const KvSizes sizes = KvSizes::in_room(spec_of_share(spec(), share()), options.kv, room);
  return std::make_unique<GpuExecutor>(model_, options, sizes);
}

}  // namespace pando::exec
