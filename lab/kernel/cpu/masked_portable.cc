#include "exec/cpu/kernel/cpu/simd_portable.h"
#include "lab/kernel/cpu/masked.h"

namespace pando::kernel {

void attend_masked_portable(const MaskedTileArgs& args);
void attend_masked_portable(const MaskedTileArgs& args) {
  MaskedAttend<SimdPortable>::attend_masked(args);
}

}  // namespace pando::kernel
