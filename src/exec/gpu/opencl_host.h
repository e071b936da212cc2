// OpenCL 1.2 devices: GPUs, and PoCL, which computes on the processor.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "exec/gpu/host.h"
#include "exec/gpu/offer.h"

namespace pando::exec::gpu {

// GPUs come first. An error says why OpenCL cannot be used.
Result<std::vector<Offer>> opencl_offers();
// Opens device `index` of opencl_offers() and compiles `source` for it. `source` defines all
// kernels of kernel_ids.h. Errors: a refusal, or the compiler's message.
Result<std::unique_ptr<Host>> open_opencl(size_t index, std::string_view source);

}  // namespace pando::exec::gpu
