// Devices of OpenCL 1.2: drivers of GPUs, and PoCL, which computes on the processor.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "exec/gpu/host.h"
#include "exec/gpu/offer.h"

namespace pando::exec::gpu {

// Devices that are GPUs stand first. An error says why there is no OpenCL.
Result<std::vector<Offer>> opencl_offers();
// index: of opencl_offers(). Compiles `source` for it, which defines all kernels of kernel_ids.h.
// Errors: a refusal, or what the driver says of the source.
Result<std::unique_ptr<Host>> open_opencl(size_t index, std::string_view source);

}  // namespace pando::exec::gpu
