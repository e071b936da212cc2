// The kernels, compiled for the CPU.
#pragma once

#include <span>

#include "exec/gpu/host.h"
#include "exec/gpu/work_group.h"

namespace pando::exec::gpu {

// Handles of buffers are addresses. Throws std::runtime_error if threads meet at different
// barriers.
void launch_emulated(Kernel kernel, Groups groups, std::span<const Arg> args,
                     const WorkGroupOptions& options);

}  // namespace pando::exec::gpu
