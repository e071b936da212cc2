#include "exec/cpu/kernel/cpu/simd_avx2.h"
#include "lab/kernel/cpu/masked.h"

namespace pando::kernel {

void attend_masked_avx2(const MaskedTileArgs& args);
void attend_masked_avx2(const MaskedTileArgs& args) { MaskedAttend<SimdAvx2>::attend_masked(args); }

}  // namespace pando::kernel
