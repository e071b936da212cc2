#include "exec/cpu/kernel/cpu/simd_avxvnni.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kAvxVnniKernels;
constinit const Kernels kAvxVnniKernels = make_table<SimdAvxVnni>(Isa::kAvxVnni, "avxvnni");

}  // namespace pando::kernel
