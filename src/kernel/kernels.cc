#include "kernel/kernels.h"

namespace pando::kernel {

extern const Kernels kPortableKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#endif

const Kernels* kernels_for(Isa isa) {
  if (isa == Isa::kPortable) return &kPortableKernels;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (isa == Isa::kAvx2) {
    // Every processor with AVX2 and FMA also has F16C.
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &kAvx2Kernels
                                                                           : nullptr;
  }
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  if (isa == Isa::kAvx512 && avx512) return &kAvx512Kernels;
#endif
  return nullptr;
}

const Kernels& best_kernels() {
  for (const Isa isa : {Isa::kAvx512, Isa::kAvx2})
    if (const Kernels* kernels = kernels_for(isa)) return *kernels;
  return kPortableKernels;
}

}  // namespace pando::kernel
