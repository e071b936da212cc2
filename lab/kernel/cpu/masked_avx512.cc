#include "exec/cpu/kernel/cpu/simd_avx512.h"
#include "lab/kernel/cpu/masked.h"

namespace pando::kernel {

void attend_masked_avx512(const MaskedTileArgs& args);
void attend_masked_avx512(const MaskedTileArgs& args) {
  MaskedAttend<SimdAvx512>::attend_masked(args);
}

}  // namespace pando::kernel
