// The devices whose kernels are those of exec/gpu/kernels.
#pragma once

#include "contract/device.h"

namespace pando::exec {

const Device& emulated_device();  // on the processor, for tests
const Device& opencl_device();    // the first of OpenCL that can be used
const Device& cuda_device();      // the first of CUDA that can be used

}  // namespace pando::exec
