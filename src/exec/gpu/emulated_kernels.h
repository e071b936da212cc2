// The kernels, compiled for the CPU.
#pragma once

#include <span>

#include "exec/gpu/host.h"
#include "exec/gpu/work_group.h"

namespace pando::exec::gpu {

// Buffer handles are addresses. Throws std::runtime_error if threads of a group wait at different
// barriers.
void launch_emulated(Kernel kernel, Groups groups, std::span<const Arg> args,
                     const WorkGroupOptions& options);

}  // namespace pando::exec::gpu
