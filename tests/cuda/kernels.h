// Kernels by name, as a driver launches them: from the addresses of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/gpu/host.h"

namespace pando::testing::cuda {

struct Parameter {
  size_t index;  // of the type in exec::gpu::Arg; 0: a pointer
  size_t n_bytes;
  size_t alignment;  // of what a pointer points to
};

std::optional<exec::gpu::Kernel> kernel_named(std::string_view name);
const std::vector<Parameter>& parameters_of(exec::gpu::Kernel kernel);
// arguments: a word for each parameter, which begins with its bytes. Throws std::runtime_error if
// threads meet at different barriers.
void run_kernel(exec::gpu::Kernel kernel, exec::gpu::Groups groups,
                const std::vector<uint64_t>& arguments);

}  // namespace pando::testing::cuda
