// Numbers of the kernels.
#pragma once

#include "exec/gpu/kernels/list.h"

namespace pando::exec::gpu {

enum class Kernel {
#define PANDO_KERNEL_ID(name, threads) name,
  PANDO_GPU_KERNELS(PANDO_KERNEL_ID)
#undef PANDO_KERNEL_ID
};

struct KernelInfo {
  const char* name;
  int n_threads;  // of a work group
};

inline constexpr KernelInfo kKernels[] = {
#define PANDO_KERNEL_INFO(name, threads) {#name, threads},
    PANDO_GPU_KERNELS(PANDO_KERNEL_INFO)
#undef PANDO_KERNEL_INFO
};

}  // namespace pando::exec::gpu
