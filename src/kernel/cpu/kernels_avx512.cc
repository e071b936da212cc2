#include "kernel/cpu/simd_avx512.h"
#include "kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kAvx512Kernels;
constinit const Kernels kAvx512Kernels = make_table<SimdAvx512>(Isa::kAvx512, "avx512");

}  // namespace pando::kernel
