#include "exec/cpu/kernel/cpu/simd_avx2.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kAvx2Kernels;
constinit const Kernels kAvx2Kernels = make_table<SimdAvx2>(Isa::kAvx2, "avx2");

}  // namespace pando::kernel
