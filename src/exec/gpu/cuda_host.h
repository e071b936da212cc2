// NVIDIA's GPUs, through CUDA's driver API.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "exec/gpu/host.h"
#include "exec/gpu/offer.h"

namespace pando::exec::gpu {

// GPUs in the driver's order. An error says why CUDA cannot be used.
Result<std::vector<Offer>> cuda_offers();
// Opens GPU `index` of cuda_offers() and compiles `source` for it. `source` defines all kernels of
// kernel_ids.h. Errors: a refusal, or the compiler's message.
Result<std::unique_ptr<Host>> open_cuda(size_t index, std::string_view source);

}  // namespace pando::exec::gpu
