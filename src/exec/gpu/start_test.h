// Compares a host's kernels with the plain loops of exec/scalar, bit by bit.
#pragma once

#include <vector>

#include "base/errors.h"
#include "exec/gpu/host.h"
#include "pando/values/kernel_check.h"

namespace pando::exec::gpu {

enum class CheckSize {
  kStart,  // a few hundred cases, before a model is loaded
  kAll,    // more cases, and larger ones
};

// Computes random cases of each kernel; every call uses equal cases. Throws what the host throws.
std::vector<KernelCheck> check_kernels(Host& host, CheckSize size);

// kUnsupported for a host whose bits differ. The message names the kernel.
Status start_test(Host& host);

}  // namespace pando::exec::gpu
