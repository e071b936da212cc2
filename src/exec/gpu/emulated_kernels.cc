#include "exec/gpu/emulated_kernels.h"

#include <tuple>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "exec/gpu/kernels/emulate.h"

namespace pando::exec::gpu {
namespace {

#include "exec/gpu/kernels/all.h"

template <class T>
T value_of(const Arg& arg) {
  if constexpr (std::is_pointer_v<T>) {
    const Buffer* const buffer = std::get<const Buffer*>(arg);
    return buffer == nullptr ? nullptr : reinterpret_cast<T>(buffer->handle());
  } else {
    return std::get<T>(arg);
  }
}

template <auto kKernel, class... Parameters, size_t... kAt>
void launch(void (*)(Parameters...), std::index_sequence<kAt...>, int n_threads, Groups groups,
            std::span<const Arg> args, const WorkGroupOptions& options) {
  PANDO_CHECK(args.size() == sizeof...(Parameters));
  const std::tuple<Parameters...> values{value_of<Parameters>(args[kAt])...};
  run_work_groups(
      groups, n_threads, [&values] { kKernel(std::get<kAt>(values)...); }, options);
}

template <class... Parameters>
std::index_sequence_for<Parameters...> places_of(void (*)(Parameters...)) {
  return {};
}

}  // namespace

void launch_emulated(Kernel kernel, Groups groups, std::span<const Arg> args,
                     const WorkGroupOptions& options) {
  switch (kernel) {
#define PANDO_LAUNCH(name, threads) \
  case Kernel::name:                \
    return launch<&name>(&name, places_of(&name), threads, groups, args, options);
    PANDO_GPU_KERNELS(PANDO_LAUNCH)
#undef PANDO_LAUNCH
  }
}

}  // namespace pando::exec::gpu
