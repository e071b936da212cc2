#include "exec/cpu/kernel/cpu/simd_neon.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kNeonKernels;
constinit const Kernels kNeonKernels = make_table<SimdNeon>(Isa::kNeon, "neon");

}  // namespace pando::kernel
