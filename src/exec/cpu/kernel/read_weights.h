// Reads rows of weights as files hold them, with the widest instructions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "exec/cpu/kernel/kernels.h"

namespace pando::kernel {

// n weights of any stored type, whole blocks of them, at any byte, as f32: the bits of
// pando::read_weights.
void read_weights(const Kernels& kernels, DType type, const std::byte* from, int64_t n, float* to);

}  // namespace pando::kernel
