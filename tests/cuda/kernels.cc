#include "cuda/kernels.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <utility>

#include "exec/gpu/emulated_host.h"
#include "exec/gpu/emulated_kernels.h"
#include "exec/gpu/kernels/emulate.h"

namespace pando::testing::cuda {
namespace {

#include "exec/gpu/kernels/all.h"

using exec::gpu::Arg;
using exec::gpu::Buffer;
using exec::gpu::kKernels;

template <class T>
Parameter parameter_of() {
  if constexpr (std::is_pointer_v<T>)
    return {0, sizeof(T), alignof(std::remove_pointer_t<T>)};
  else
    return {Arg(T{}).index(), sizeof(T), 1};
}

template <class Function>
struct Signature;
template <class... Parameters>
struct Signature<void(Parameters...)> {
  static std::vector<Parameter> parameters() { return {parameter_of<Parameters>()...}; }
};

// Makes buffers of memory that is there already.
class Views final : public exec::gpu::EmulatedHost {
 public:
  Buffer view(uint64_t address) {
    address_ = address;
    return address == 0 ? Buffer() : Buffer(*this, 1);
  }

 private:
  uint64_t allocate(size_t) override { return address_; }
  void release(uint64_t) override {}

  uint64_t address_ = 0;
};

template <class T>
Arg value_of(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

}  // namespace

std::optional<exec::gpu::Kernel> kernel_named(std::string_view name) {
  const auto found = std::ranges::find(kKernels, name, &exec::gpu::KernelInfo::name);
  if (found == std::end(kKernels)) return std::nullopt;
  return static_cast<exec::gpu::Kernel>(found - std::begin(kKernels));
}

const std::vector<Parameter>& parameters_of(exec::gpu::Kernel kernel) {
  static const std::vector<Parameter> all[] = {
#define PANDO_PARAMETERS(name, threads) Signature<decltype(name)>::parameters(),
      PANDO_GPU_KERNELS(PANDO_PARAMETERS)
#undef PANDO_PARAMETERS
  };
  return all[static_cast<size_t>(kernel)];
}

void run_kernel(exec::gpu::Kernel kernel, exec::gpu::Groups groups,
                const std::vector<uint64_t>& arguments) {
  const std::vector<Parameter>& parameters = parameters_of(kernel);
  Views views;
  std::vector<Buffer> buffers(parameters.size());
  std::vector<Arg> args(parameters.size());
  constexpr Arg (*kValues[])(uint64_t) = {nullptr, value_of<int32_t>, value_of<uint32_t>,
                                          value_of<uint64_t>, value_of<float>};
  for (size_t i = 0; i < args.size(); ++i) {
    if (parameters[i].index > 0) {
      args[i] = kValues[parameters[i].index](arguments[i]);
      continue;
    }
    buffers[i] = views.view(arguments[i]);
    args[i] = &buffers[i];
  }
  launch_emulated(kernel, groups, args, {});
}

}  // namespace pando::testing::cuda
