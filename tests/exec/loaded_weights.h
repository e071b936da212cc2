// The weights of a model as a device has them, and the files that they were read from.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/numbers/weight_types.h"
#include "exec/cpu/cpu_device.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/pack/weights.h"
#include "exec/gpu/cuda_host.h"
#include "exec/gpu/emulated_host.h"
#include "exec/gpu/gpu_device.h"
#include "exec/gpu/gpu_devices.h"
#include "exec/gpu/kernel_text.h"
#include "exec/gpu/opencl_host.h"
#include "exec/scalar/scalar_device.h"
#include "model/opened_model.h"

namespace pando::testing {

struct LoadedWeights : exec::Weights {
  std::unique_ptr<const model::OpenedModel> files = nullptr;
};

inline Result<LoadedWeights> load_weights(const std::filesystem::path& path,
                                          std::optional<DType> requantised, ThreadPool& pool,
                                          const ModelShare& share = {}) {
  Result<model::OpenedModel> opened = model::OpenedModel::open(path);
  if (!opened) return opened.error();
  auto files = std::make_unique<const model::OpenedModel>(std::move(*opened));
  Result<exec::Weights> weights =
      exec::Weights::load(files->config, *files, requantised, kernel::best_kernels(), pool, share);
  if (!weights) return weights.error();
  return LoadedWeights{{std::move(*weights)}, std::move(files)};
}

// A table's bytes, where they lie in its file.
inline std::span<const std::byte> bytes_of(const model::Tensor& table) {
  return {table.in_place(),
          static_cast<size_t>(table.shape[0]) * stored_bytes(table.type, table.shape[1])};
}

// Loads the same for an engine. The configuration may differ from the files' in fields that their
// format cannot hold.
struct LoadedModel {
  std::unique_ptr<const model::OpenedModel> files;
  model::ModelConfig config;
  std::unique_ptr<const DeviceModel> weights;
};

inline Result<LoadedModel> load_model(const std::filesystem::path& path,
                                      std::optional<DType> requantised, ThreadPool& pool,
                                      const ModelShare& share = {},
                                      const std::optional<model::ModelConfig>& other = {}) {
  Result<LoadedWeights> loaded = load_weights(path, requantised, pool, share);
  if (!loaded) return loaded.error();
  auto files = std::move(loaded->files);
  model::ModelConfig config = other.value_or(files->config);
  loaded->spec = config;
  return LoadedModel{
      std::move(files), std::move(config),
      std::make_unique<exec::CpuModel>(std::move(static_cast<exec::Weights&>(*loaded)))};
}

// Does the same for the device "scalar".
inline Result<LoadedModel> load_scalar_model(const std::filesystem::path& path,
                                             std::optional<DType> requantised, ThreadPool& pool,
                                             const ModelShare& share = {},
                                             const std::optional<model::ModelConfig>& other = {}) {
  Result<model::OpenedModel> opened = model::OpenedModel::open(path);
  if (!opened) return opened.error();
  auto files = std::make_unique<const model::OpenedModel>(std::move(*opened));
  auto weights = exec::scalar::Weights::load(files->config, *files, requantised, share, pool);
  if (!weights) return weights.error();
  model::ModelConfig config = other.value_or(files->config);
  weights->spec = config;
  return LoadedModel{std::move(files), std::move(config),
                     std::make_unique<exec::ScalarModel>(std::move(*weights))};
}

// The device "emulated", with threads in the order kOrder.
template <exec::gpu::ThreadOrder kOrder>
const exec::GpuDevice& emulated_device() {
  const auto make_host = [] {
    return Result<std::unique_ptr<exec::gpu::Host>>(
        std::make_unique<exec::gpu::EmulatedHost>(exec::gpu::WorkGroupOptions{.order = kOrder}));
  };
  static const exec::GpuDevice device(
      {"emulated", [] { return exec::gpu::Offer{}; }, make_host, make_host});
  return device;
}

// Loads a model for a device that runs GPU kernels on this host.
inline Result<LoadedModel> load_hosted_model(const Device& device,
                                             std::unique_ptr<exec::gpu::Host> host,
                                             const std::filesystem::path& path,
                                             std::optional<DType> requantised, ThreadPool& pool,
                                             const ModelShare& share,
                                             const std::optional<model::ModelConfig>& other) {
  Result<model::OpenedModel> opened = model::OpenedModel::open(path);
  if (!opened) return opened.error();
  auto files = std::make_unique<const model::OpenedModel>(std::move(*opened));
  Result<exec::gpu::Weights> weights =
      exec::gpu::Weights::load(*host, files->config, *files, requantised, share, pool);
  if (!weights) return weights.error();
  model::ModelConfig config = other.value_or(files->config);
  weights->on_host.spec = config;
  return LoadedModel{
      std::move(files), std::move(config),
      std::make_unique<exec::GpuModel>(device, std::move(host), std::move(*weights))};
}

template <exec::gpu::ThreadOrder kOrder>
Result<LoadedModel> load_emulated_model(const std::filesystem::path& path,
                                        std::optional<DType> requantised, ThreadPool& pool,
                                        const ModelShare& share = {},
                                        const std::optional<model::ModelConfig>& other = {}) {
  auto host =
      std::make_unique<exec::gpu::EmulatedHost>(exec::gpu::WorkGroupOptions{.order = kOrder});
  return load_hosted_model(emulated_device<kOrder>(), std::move(host), path, requantised, pool,
                           share, other);
}

// Opens the first device of a driver.
template <auto kOpen, auto kDevice>
Result<LoadedModel> load_driver_model(const std::filesystem::path& path,
                                      std::optional<DType> requantised, ThreadPool& pool,
                                      const ModelShare& share = {},
                                      const std::optional<model::ModelConfig>& other = {}) {
  Result<std::unique_ptr<exec::gpu::Host>> host = kOpen(0, exec::gpu::kernel_text());
  if (!host) return host.error();
  return load_hosted_model(kDevice(), std::move(*host), path, requantised, pool, share, other);
}

}  // namespace pando::testing
