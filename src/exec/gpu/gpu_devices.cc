#include "exec/gpu/gpu_devices.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "base/failures.h"
#include "base/machine.h"
#include "exec/gpu/cuda_host.h"
#include "exec/gpu/emulated_host.h"
#include "exec/gpu/gpu_device.h"
#include "exec/gpu/kernel_text.h"
#include "exec/gpu/opencl_host.h"
#include "exec/gpu/start_test.h"

namespace pando::exec {
namespace {

using gpu::Host;
using gpu::Offer;

// An interface to a kind of devices.
struct Driver {
  const char* name;
  Result<std::vector<Offer>> (*offers)();
  Result<std::unique_ptr<Host>> (*open)(size_t index, std::string_view source);
};
constexpr Driver kOpenCl{"opencl", gpu::opencl_offers, gpu::open_opencl};
constexpr Driver kCuda{"cuda", gpu::cuda_offers, gpu::open_cuda};

// The emulation fills a new buffer, which would take long for half of a machine's memory.
constexpr uint64_t kEmulatedBuffer = uint64_t{1} << 30;
constexpr std::string_view kNoDevice = "its driver has no device";

// The first that can be used, or else the first.
size_t chosen(const std::vector<Offer>& offers) {
  const auto usable =
      std::ranges::find_if(offers, [](const Offer& offer) { return offer.refusal.empty(); });
  return usable == offers.end() ? 0 : static_cast<size_t>(usable - offers.begin());
}

Offer offer_of_driver(const Driver& driver) {
  const Result<std::vector<Offer>> offers = driver.offers();
  if (!offers) return {.refusal = offers.error().message()};
  if (offers->empty()) return {.refusal = std::string(kNoDevice)};
  return (*offers)[chosen(*offers)];
}

Result<std::unique_ptr<Host>> open_host(const Driver& driver) {
  const Result<std::vector<Offer>> offers = driver.offers();
  if (!offers) return offers.error();
  if (offers->empty()) return unsupported("{}", kNoDevice);
  try {
    return driver.open(chosen(*offers), gpu::kernel_text());
  } catch (const std::exception& error) {
    return unsupported("{}", reason_of(error));
  }
}

// A host whose kernels have given the bits of exec/scalar.
Result<std::unique_ptr<Host>> tested_host(const Driver& driver) {
  Result<std::unique_ptr<Host>> host = open_host(driver);
  if (!host) return host;
  if (Status status = gpu::start_test(**host); !status) return status.error();
  return host;
}

GpuDevice device_of(const Driver& driver) {
  return GpuDevice({driver.name, [&driver] { return offer_of_driver(driver); },
                    [&driver] { return tested_host(driver); },
                    [&driver] { return open_host(driver); }});
}

}  // namespace

const Device& emulated_device() {
  const auto make_host = [] {
    return Result<std::unique_ptr<Host>>(std::make_unique<gpu::EmulatedHost>());
  };
  static const GpuDevice device({"emulated",
                                 [] {
                                   return Offer{
                                       .description = "kernels of GPUs on the processor, for tests",
                                       .memory_bytes = total_memory().value_or(0),
                                       .largest_buffer = kEmulatedBuffer};
                                 },
                                 make_host, make_host});
  return device;
}

const Device& opencl_device() {
  static const GpuDevice device = device_of(kOpenCl);
  return device;
}

const Device& cuda_device() {
  static const GpuDevice device = device_of(kCuda);
  return device;
}

Result<std::unique_ptr<Host>> open_gpu(std::string_view name) {
  for (const Driver* driver : {&kCuda, &kOpenCl})
    if (name == driver->name) return open_host(*driver);
  if (!name.empty()) return invalid_option("device", "is '{}', expected cuda or opencl", name);
  Result<std::unique_ptr<Host>> cuda = open_host(kCuda);
  return cuda ? std::move(cuda) : open_host(kOpenCl);
}

}  // namespace pando::exec
