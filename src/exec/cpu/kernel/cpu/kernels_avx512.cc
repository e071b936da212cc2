#include "exec/cpu/kernel/cpu/simd_avx512.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kAvx512Kernels;
constinit const Kernels kAvx512Kernels = make_table<SimdAvx512>(Isa::kAvx512, "avx512");

}  // namespace pando::kernel
