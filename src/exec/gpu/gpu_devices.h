// The devices that run the kernels of exec/gpu/kernels.
#pragma once

#include "contract/device.h"

namespace pando::exec {

const Device& emulated_device();  // on the processor, for tests
const Device& opencl_device();    // the first usable OpenCL device
const Device& cuda_device();      // the first usable CUDA device

}  // namespace pando::exec
