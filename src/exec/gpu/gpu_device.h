// Devices that run GPU kernels: GPUs, and the emulation.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/device.h"
#include "exec/gpu/gpu_executor.h"
#include "exec/gpu/host.h"
#include "exec/gpu/offer.h"

namespace pando::exec {

struct GpuDeviceInfo {
  std::string name;  // "cuda"
  std::function<gpu::Offer()> offer;
  // Makes a host for one model. kUnsupported if no host gives the right bits.
  std::function<Result<std::unique_ptr<gpu::Host>>()> make_host;
  // Makes a host without checking its bits.
  std::function<Result<std::unique_ptr<gpu::Host>>()> open_host;
};

class GpuDevice final : public Device {
 public:
  explicit GpuDevice(GpuDeviceInfo info) : info_(std::move(info)) {}

  std::string_view name() const override { return info_.name; }
  std::string description() const override { return info_.offer().description; }
  uint64_t memory_bytes() const override { return info_.offer().memory_bytes; }
  uint64_t own_memory_bytes() const override {
    const gpu::Offer offer = info_.offer();
    return offer.has_own_memory ? offer.memory_bytes : 0;
  }
  uint64_t largest_buffer_bytes() const override { return info_.offer().largest_buffer; }
  std::string refusal() const override { return info_.offer().refusal; }
  bool divides_rows() const override { return false; }
  Result<std::string> isa_name(std::string_view isa) const override;
  std::vector<std::string> warnings() const override { return {}; }

  Result<std::vector<KernelCheck>> check_kernels() const override;

  // kUnsupported for a model with layers that the device cannot compute.
  Result<std::unique_ptr<DeviceModel>> load(const model::ModelSpec& spec,
                                            const model::TensorSource& source,
                                            const WeightOptions& options,
                                            ThreadPool& pool) const override;
  // Estimates: close to the CPU's sizes.
  uint64_t weight_bytes(const model::ModelSpec& spec, const model::TensorSource& source,
                        const WeightOptions& options) const override;
  uint64_t fixed_bytes(const model::ModelSpec& spec, int context) const override;
  Result<KvRoom> kv_room(const model::ModelSpec& spec, const KvOptions& options) const override;
  size_t kv_bytes_per_token(const model::ModelSpec& spec, DType type) const override;

 private:
  GpuDeviceInfo info_;
};

class GpuModel final : public DeviceModel {
 public:
  // The device outlives this.
  GpuModel(const Device& device, std::unique_ptr<gpu::Host> host, gpu::Weights weights)
      : device_(device), model_{std::move(host), std::move(weights), {}} {}

  const Device& device() const override { return device_; }
  const model::ModelSpec& spec() const override { return model_.weights.on_host.spec; }
  const ModelShare& share() const override { return model_.weights.on_host.share; }
  std::string weight_type() const override;
  size_t weight_bytes() const override { return model_.weights.bytes(); }
  std::unique_ptr<StageExecutor> open(const ExecutorOptions& options, const KvRoom& room,
                                      ThreadPool& pool) const override;

 private:
  const Device& device_;
  HostedModel model_;
};

// kUnsupported for layers that GPUs do not compute. The message names them.
Status check_gpu_model(const model::ModelSpec& spec, std::string_view device);

}  // namespace pando::exec
