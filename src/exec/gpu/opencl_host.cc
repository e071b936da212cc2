#include "exec/gpu/opencl_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "exec/gpu/opencl_api.h"

namespace pando::exec::gpu {
namespace {

using opencl::api;
using opencl::Mem;

constexpr uint32_t kYes = 1;  // CL_TRUE: the call waits

template <class T>
T number_of(opencl::DeviceId* device, uint32_t what) {
  T value{};
  api().clGetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::string text_of(opencl::DeviceId* device, uint32_t what) {
  size_t n = 0;
  if (api().clGetDeviceInfo(device, what, 0, nullptr, &n) != 0 || n == 0) return {};
  std::string text(n, '\0');
  if (api().clGetDeviceInfo(device, what, n, text.data(), nullptr) != 0) return {};
  return text.c_str();  // up to its first 0
}

// GPUs first, and otherwise the drivers' order.
Result<std::vector<opencl::DeviceId*>> device_ids() {
  if (!api().problem.empty()) return unsupported("there is no OpenCL: {}", api().problem);
  uint32_t n_platforms = 0;
  const int32_t code = api().clGetPlatformIDs(0, nullptr, &n_platforms);
  if (code == opencl::kNoPlatform || (code == 0 && n_platforms == 0))
    return unsupported("OpenCL has no driver on this machine");
  if (code != 0) return unsupported("OpenCL gives error {}", code);
  std::vector<opencl::PlatformId*> platforms(n_platforms);
  api().clGetPlatformIDs(n_platforms, platforms.data(), nullptr);
  std::vector<opencl::DeviceId*> all;
  for (opencl::PlatformId* platform : platforms) {
    uint32_t n = 0;
    if (api().clGetDeviceIDs(platform, opencl::kAllDevices, 0, nullptr, &n) != 0) continue;
    std::vector<opencl::DeviceId*> some(n);
    if (api().clGetDeviceIDs(platform, opencl::kAllDevices, n, some.data(), nullptr) == 0)
      all.insert(all.end(), some.begin(), some.end());
  }
  std::stable_partition(all.begin(), all.end(), [](opencl::DeviceId* device) {
    return (number_of<uint64_t>(device, opencl::kDeviceType) & opencl::kGpuType) != 0;
  });
  if (all.empty()) return unsupported("the drivers of OpenCL have no device");
  return all;
}

std::string refusal_of(opencl::DeviceId* device) {
  const auto config = number_of<uint64_t>(device, opencl::kSingleFpConfig);
  if (number_of<uint32_t>(device, opencl::kCompilerAvailable) == 0)
    return "its driver has no compiler";
  if ((config & opencl::kFpDenorm) == 0) return "it flushes denormal numbers to zero";
  if ((config & opencl::kFpFma) == 0) return "it has no fused multiply-add";
  return {};
}

Offer offer_of(opencl::DeviceId* device) {
  return {fmt::format("{}, driver {}", text_of(device, opencl::kDeviceName),
                      text_of(device, opencl::kDriverVersion)),
          number_of<uint64_t>(device, opencl::kGlobalMemSize), refusal_of(device),
          number_of<uint32_t>(device, opencl::kHostUnifiedMemory) == 0,
          number_of<uint64_t>(device, opencl::kMaxMemAllocSize)};
}

std::string build_options(opencl::DeviceId* device) {
  std::string options = "-cl-std=CL1.2";
  const auto config = number_of<uint64_t>(device, opencl::kSingleFpConfig);
  if ((number_of<uint64_t>(device, opencl::kDeviceType) & opencl::kCpuType) != 0)
    options += " -DPANDO_CPU";
  if ((config & opencl::kFpDivideSqrt) != 0) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

class OpenClHost final : public Host {
 public:
  explicit OpenClHost(opencl::DeviceId* device) : device_(device) {
    int32_t code = 0;
    context_ = api().clCreateContext(nullptr, 1, &device_, nullptr, nullptr, &code);
    check(code, "clCreateContext");
    queue_ = api().clCreateCommandQueue(context_, device_, 0, &code);
    check(code, "clCreateCommandQueue");
  }
  ~OpenClHost() override {
    if (queue_ != nullptr) api().clFinish(queue_);
    for (opencl::KernelObject* kernel : kernels_)
      if (kernel != nullptr) api().clReleaseKernel(kernel);
    if (program_ != nullptr) api().clReleaseProgram(program_);
    if (queue_ != nullptr) api().clReleaseCommandQueue(queue_);
    if (context_ != nullptr) api().clReleaseContext(context_);
  }
  OpenClHost(const OpenClHost&) = delete;
  OpenClHost& operator=(const OpenClHost&) = delete;

  Status build(std::string_view source);

  std::string name() const override { return text_of(device_, opencl::kDeviceName); }
  void write(const Buffer& to, size_t offset, const void* from, size_t n) override {
    if (n > 0)
      check(api().clEnqueueWriteBuffer(queue_, memory(to), kYes, offset, n, from, 0, nullptr,
                                       nullptr),
            "clEnqueueWriteBuffer");
  }
  void read(const Buffer& from, size_t offset, void* to, size_t n) override {
    check(n == 0 ? api().clFinish(queue_)
                 : api().clEnqueueReadBuffer(queue_, memory(from), kYes, offset, n, to, 0, nullptr,
                                             nullptr),
          "clEnqueueReadBuffer");
  }
  void fill(const Buffer& to, size_t offset, uint8_t value, size_t n) override {
    if (n > 0)
      check(
          api().clEnqueueFillBuffer(queue_, memory(to), &value, 1, offset, n, 0, nullptr, nullptr),
          "clEnqueueFillBuffer");
  }
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args) override;

 private:
  static Mem* memory(const Buffer& buffer) { return reinterpret_cast<Mem*>(buffer.handle()); }
  void check(int32_t code, const char* call) const {
    if (code != 0)
      throw std::runtime_error(fmt::format("{}: {} gives error {} of OpenCL", name(), call, code));
  }
  uint64_t allocate(size_t n) override;
  void release(uint64_t handle) override {
    api().clReleaseMemObject(reinterpret_cast<Mem*>(handle));
  }

  opencl::DeviceId* device_;
  opencl::Context* context_ = nullptr;
  opencl::Queue* queue_ = nullptr;
  opencl::Program* program_ = nullptr;
  std::vector<opencl::KernelObject*> kernels_;  // by Kernel
};

Status OpenClHost::build(std::string_view source) {
  int32_t code = 0;
  const char* text = source.data();
  const size_t n = source.size();
  program_ = api().clCreateProgramWithSource(context_, 1, &text, &n, &code);
  check(code, "clCreateProgramWithSource");
  code =
      api().clBuildProgram(program_, 1, &device_, build_options(device_).c_str(), nullptr, nullptr);
  if (code != 0) {
    size_t log_len = 0;
    api().clGetProgramBuildInfo(program_, device_, opencl::kBuildLog, 0, nullptr, &log_len);
    std::string log(log_len, '\0');
    api().clGetProgramBuildInfo(program_, device_, opencl::kBuildLog, log_len, log.data(), nullptr);
    return unsupported("{} does not compile the kernels: {}", name(),
                       log.substr(0, log.find_first_of(std::string_view("\n\0", 2))));
  }
  for (const KernelInfo& info : kKernels) {
    kernels_.push_back(api().clCreateKernel(program_, info.name, &code));
    if (code != 0) return unsupported("{} has no kernel {}: error {}", name(), info.name, code);
  }
  return {};
}

// Checks the driver's limit first: above it, drivers may crash or give unrelated errors.
uint64_t OpenClHost::allocate(size_t n) {
  const auto most = number_of<uint64_t>(device_, opencl::kMaxMemAllocSize);
  if (n > most)
    throw std::runtime_error(fmt::format(
        "{}: {} bytes in one buffer, expected at most {}, its driver's limit", name(), n, most));
  int32_t code = 0;
  Mem* const made = api().clCreateBuffer(context_, opencl::kMemReadWrite, n, nullptr, &code);
  for (const int32_t none :
       {opencl::kAllocationFailed, opencl::kOutOfResources, opencl::kOutOfHostMemory})
    if (code == none) throw std::bad_alloc();
  check(code, "clCreateBuffer");
  return reinterpret_cast<uint64_t>(made);
}

void OpenClHost::launch(Kernel kernel, Groups groups, std::span<const Arg> args) {
  if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
  const auto index = static_cast<size_t>(kernel);
  opencl::KernelObject* const object = kernels_[index];
  uint32_t i = 0;
  for (const Arg& arg : args) {
    const int32_t code = std::visit(
        [&](const auto& value) {
          if constexpr (std::is_same_v<decltype(value), const Buffer* const&>) {
            Mem* const given = value == nullptr ? nullptr : memory(*value);
            return api().clSetKernelArg(object, i, sizeof given, &given);
          } else {
            return api().clSetKernelArg(object, i, sizeof value, &value);
          }
        },
        arg);
    check(code, kKernels[index].name);
    ++i;
  }
  const auto n_threads = static_cast<size_t>(kKernels[index].n_threads);
  const std::array<size_t, 3> all = {groups.x * n_threads, groups.y, groups.z};
  const std::array<size_t, 3> each = {n_threads, 1, 1};
  check(api().clEnqueueNDRangeKernel(queue_, object, 3, nullptr, all.data(), each.data(), 0,
                                     nullptr, nullptr),
        kKernels[index].name);
}

}  // namespace

Result<std::vector<Offer>> opencl_offers() {
  const Result<std::vector<opencl::DeviceId*>> ids = device_ids();
  if (!ids) return ids.error();
  std::vector<Offer> offers;
  for (opencl::DeviceId* device : *ids) offers.push_back(offer_of(device));
  return offers;
}

Result<std::unique_ptr<Host>> open_opencl(size_t index, std::string_view source) {
  const Result<std::vector<opencl::DeviceId*>> ids = device_ids();
  if (!ids) return ids.error();
  if (index >= ids->size())
    return unsupported("OpenCL has {} devices, expected number {}", ids->size(), index);
  const Offer offer = offer_of((*ids)[index]);
  if (!offer.refusal.empty()) return unsupported("{}: {}", offer.description, offer.refusal);
  auto host = std::make_unique<OpenClHost>((*ids)[index]);
  if (Status status = host->build(source); !status) return status.error();
  return std::unique_ptr<Host>(std::move(host));
}

}  // namespace pando::exec::gpu
