// The devices that run the kernels of exec/gpu/kernels.
#pragma once

#include <memory>
#include <string_view>

#include "contract/device.h"
#include "exec/gpu/host.h"

namespace pando::exec {

const Device& emulated_device();  // on the processor, for tests
const Device& opencl_device();    // the first usable OpenCL device
const Device& cuda_device();      // the first usable CUDA device

// Opens the first usable device of "cuda" or "opencl", without a test of its bits. "" means
// cuda, or opencl if cuda cannot be opened. kInvalidArgument for another name.
Result<std::unique_ptr<gpu::Host>> open_gpu(std::string_view name);

}  // namespace pando::exec
