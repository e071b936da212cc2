#include "exec/cpu/kernel/cpu/simd_neon.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kI8mmKernels;
constinit const Kernels kI8mmKernels = make_table<SimdI8mm>(Isa::kI8mm, "i8mm");

}  // namespace pando::kernel
