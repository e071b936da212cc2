#include "exec/cpu/kernel/cpu/simd_portable.h"
#include "exec/cpu/kernel/cpu/table.h"

namespace pando::kernel {

extern const Kernels kPortableKernels;
constinit const Kernels kPortableKernels = make_table<SimdPortable>(Isa::kPortable, "portable");

}  // namespace pando::kernel
