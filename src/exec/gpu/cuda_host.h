// NVIDIA's GPUs, by the driver API.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "exec/gpu/host.h"
#include "exec/gpu/offer.h"

namespace pando::exec::gpu {

// In the driver's order. An error says why there is no CUDA.
Result<std::vector<Offer>> cuda_offers();
// index: of cuda_offers(). Compiles `source` for it, which defines all kernels of kernel_ids.h.
// Errors: a refusal, or what the compiler says of the source.
Result<std::unique_ptr<Host>> open_cuda(size_t index, std::string_view source);

}  // namespace pando::exec::gpu
