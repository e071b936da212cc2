// NVRTC: NVIDIA's run-time compiler for CUDA C++.
#pragma once

#include <string>
#include <string_view>

#include "base/errors.h"

namespace pando::exec::gpu {

struct Capability {
  int major = 0, minor = 0;  // 9.0: an H200
  int number() const { return 10 * major + minor; }
};

// An error says why the compiler cannot serve a GPU of this capability.
Status check_nvrtc(Capability capability);

// Machine code for this capability, or PTX for an older one if the compiler is too old. The driver
// loads both. The code contracts nothing and keeps denormals. Errors: those of check_nvrtc, or the
// compiler's message.
Result<std::string> compile_cuda(std::string_view source, Capability capability);

}  // namespace pando::exec::gpu
