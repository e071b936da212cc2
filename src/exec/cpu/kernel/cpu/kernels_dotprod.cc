#include "exec/cpu/kernel/cpu/simd_neon.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kDotProdKernels;
constinit const Kernels kDotProdKernels = make_table<SimdDotProd>(Isa::kDotProd, "dotprod");

}  // namespace pando::kernel
