#include "exec/gpu/cuda_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "exec/gpu/cuda_api.h"
#include "exec/gpu/cuda_queue.h"
#include "exec/gpu/nvrtc.h"

namespace pando::exec::gpu {
namespace {

using cuda::api;

constexpr size_t kStagingBytes = size_t{4} << 20;
constexpr Capability kLeastCapability{7, 5};

Result<int> cuda_device_count() {
  if (!api().problem.empty()) return unsupported("there is no CUDA: {}", api().problem);
  int n = 0;
  if (const int code = api().cuDeviceGetCount(&n); code != 0)
    return unsupported("there is no CUDA: {}", cuda::words_of(code));
  return n;
}

Capability capability_of(int device) {
  Capability capability;
  api().cuDeviceGetAttribute(&capability.major, cuda::kCapabilityMajor, device);
  api().cuDeviceGetAttribute(&capability.minor, cuda::kCapabilityMinor, device);
  return capability;
}

std::string name_of(int device) {
  char name[256] = {};
  api().cuDeviceGetName(name, sizeof name - 1, device);
  return name;
}

std::string refusal_of(Capability capability) {
  if (capability.number() < kLeastCapability.number())
    return fmt::format("its compute capability is {}.{}, expected at least {}.{}", capability.major,
                       capability.minor, kLeastCapability.major, kLeastCapability.minor);
  const Status status = check_nvrtc(capability);
  return status ? std::string() : status.error().message();
}

Offer offer_of(int device) {
  const Capability capability = capability_of(device);
  int version = 0;
  size_t n_bytes = 0;
  api().cuDriverGetVersion(&version);
  api().cuDeviceTotalMem_v2(&n_bytes, device);
  return {fmt::format("{}, compute capability {}.{}, driver for CUDA {}.{}", name_of(device),
                      capability.major, capability.minor, version / 1000, version % 1000 / 10),
          n_bytes, refusal_of(capability), /*has_own_memory=*/true};
}

// The driver has a current context for each thread, so each call sets it.
class CudaHost final : public Host {
 public:
  explicit CudaHost(int device) : device_(device), name_(name_of(device)) {}
  ~CudaHost() override {
    if (context_ == nullptr) return;
    api().cuCtxSetCurrent(context_);
    queue_.reset();
    free_released();
    if (module_ != nullptr) api().cuModuleUnload(module_);
    if (staging_ != nullptr) api().cuMemFreeHost(staging_);
    api().cuDevicePrimaryCtxRelease_v2(device_);
  }
  CudaHost(const CudaHost&) = delete;
  CudaHost& operator=(const CudaHost&) = delete;

  // Called once, before all other calls. Throws std::runtime_error.
  void start();
  Status build(std::string_view source);

  std::string name() const override { return name_; }
  void write(const Buffer& to, size_t offset, const void* from, size_t n) override;
  void read(const Buffer& from, size_t offset, void* to, size_t n) override;
  void fill(const Buffer& to, size_t offset, uint8_t value, size_t n) override {
    make_current();
    if (n > 0) queue_->fill(to.handle() + offset, value, n);
  }
  void launch(Kernel kernel, Groups groups, std::span<const Arg> args) override {
    if (groups.x == 0 || groups.y == 0 || groups.z == 0) return;
    make_current();
    queue_->launch(kernel, groups, args);
  }

 private:
  void make_current() { check(api().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }
  // Called only after the queue has waited.
  void free_released() {
    for (const uint64_t handle : released_) api().cuMemFree_v2(handle);
    n_buffers_ -= released_.size();
    released_.clear();
    n_staged_ = 0;
  }
  void wait() {
    queue_->wait();
    free_released();
  }
  void check(int code, const char* call) const {
    if (code != 0)
      throw std::runtime_error(fmt::format("{}: {}: {}", name_, call, cuda::words_of(code)));
  }
  uint64_t allocate(size_t n) override;
  // Calls that were not waited for may still use the buffer.
  void release(uint64_t handle) override {
    released_.push_back(handle);
    if (queue_->is_idle() && api().cuCtxSetCurrent(context_) == 0) free_released();
  }

  int device_;
  std::string name_;
  cuda::Context* context_ = nullptr;
  std::unique_ptr<cuda::Queue> queue_;
  cuda::Module* module_ = nullptr;
  std::byte* staging_ = nullptr;    // [kStagingBytes], pinned
  size_t n_staged_ = 0;             // bytes that copies may still be reading
  std::vector<uint64_t> released_;  // buffers to be freed after the next wait
  size_t n_buffers_ = 0;            // released_ included
};

void CudaHost::start() {
  check(api().cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  make_current();
  queue_ = std::make_unique<cuda::Queue>(name_);
  queue_->open();
  void* staging = nullptr;
  check(api().cuMemAllocHost_v2(&staging, kStagingBytes), "cuMemAllocHost");
  staging_ = static_cast<std::byte*>(staging);
}

Status CudaHost::build(std::string_view source) {
  make_current();
  const Result<std::string> code = compile_cuda(source, capability_of(device_));
  if (!code) return code.error();
  if (const int failed = api().cuModuleLoadData(&module_, code->c_str()); failed != 0)
    return unsupported("{} does not load the kernels: {}", name_, cuda::words_of(failed));
  std::vector<cuda::Function*> functions;
  for (const KernelInfo& info : kKernels) {
    cuda::Function*& function = functions.emplace_back();
    if (const int failed = api().cuModuleGetFunction(&function, module_, info.name); failed != 0)
      return unsupported("{} has no kernel {}: {}", name_, info.name, cuda::words_of(failed));
  }
  queue_->set_functions(std::move(functions));
  return {};
}

uint64_t CudaHost::allocate(size_t n) {
  make_current();
  released_.reserve(n_buffers_ + 1);  // so that release() allocates nothing
  cuda::DevicePointer made = 0;
  int code = api().cuMemAlloc_v2(&made, n);
  if (code == cuda::kOutOfMemory && !released_.empty()) {
    wait();
    code = api().cuMemAlloc_v2(&made, n);
  }
  if (code == cuda::kOutOfMemory) throw std::bad_alloc();
  check(code, "cuMemAlloc");
  ++n_buffers_;
  return made;
}

void CudaHost::write(const Buffer& to, size_t offset, const void* from, size_t n) {
  make_current();
  const auto* bytes = static_cast<const std::byte*>(from);
  while (n > 0) {
    if (n_staged_ == kStagingBytes) wait();
    const size_t part = std::min(n, kStagingBytes - n_staged_);
    std::byte* const staged = staging_ + n_staged_;
    std::memcpy(staged, bytes, part);
    queue_->write(to.handle() + offset, staged, part);
    n_staged_ += part;
    bytes += part;
    offset += part;
    n -= part;
  }
}

void CudaHost::read(const Buffer& from, size_t offset, void* to, size_t n) {
  make_current();
  queue_->read(from.handle() + offset, to, n);
  free_released();
}

}  // namespace

Result<std::vector<Offer>> cuda_offers() {
  const Result<int> n = cuda_device_count();
  if (!n) return n.error();
  std::vector<Offer> offers;
  for (int i = 0; i < *n; ++i) {
    int device = 0;
    if (api().cuDeviceGet(&device, i) == 0) offers.push_back(offer_of(device));
  }
  return offers;
}

Result<std::unique_ptr<Host>> open_cuda(size_t index, std::string_view source) {
  const Result<int> n = cuda_device_count();
  if (!n) return n.error();
  int device = 0;
  if (index >= static_cast<size_t>(*n) || api().cuDeviceGet(&device, static_cast<int>(index)) != 0)
    return unsupported("CUDA has {} devices, expected number {}", *n, index);
  const Offer offer = offer_of(device);
  if (!offer.refusal.empty()) return unsupported("{}: {}", offer.description, offer.refusal);
  auto host = std::make_unique<CudaHost>(device);
  host->start();
  if (Status status = host->build(source); !status) return status.error();
  return std::unique_ptr<Host>(std::move(host));
}

}  // namespace pando::exec::gpu
