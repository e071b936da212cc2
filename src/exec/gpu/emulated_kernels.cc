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

template <class... Parameters, size_t... kAt>
void launch(void (*kernel)(Parameters...), int n_threads, Groups groups, std::span<const Arg> args,
            const WorkGroupOptions& options, std::index_sequence<kAt...>) {
  PANDO_CHECK(args.size() == sizeof...(Parameters));
  const std::tuple<Parameters...> values{value_of<Parameters>(args[kAt])...};
  const auto body = [&] { kernel(std::get<kAt>(values)...); };
  for (uint32_t z = 0; z < groups.z; ++z)
    for (uint32_t y = 0; y < groups.y; ++y)
      for (uint32_t x = 0; x < groups.x; ++x) {
        place = {0, {static_cast<s32>(x), static_cast<s32>(y), static_cast<s32>(z)}};
        run_work_group(n_threads, body, options);
      }
}

template <class... Parameters>
void launch(void (*kernel)(Parameters...), int n_threads, Groups groups, std::span<const Arg> args,
            const WorkGroupOptions& options) {
  launch(kernel, n_threads, groups, args, options, std::index_sequence_for<Parameters...>());
}

}  // namespace

void launch_emulated(Kernel kernel, Groups groups, std::span<const Arg> args,
                     const WorkGroupOptions& options) {
  switch (kernel) {
#define PANDO_LAUNCH(name, threads) \
  case Kernel::name:                \
    return launch(&name, threads, groups, args, options);
    PANDO_GPU_KERNELS(PANDO_LAUNCH)
#undef PANDO_LAUNCH
  }
}

}  // namespace pando::exec::gpu
