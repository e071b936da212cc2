#include "exec/cpu/kernel/cpu/linear_block.h"
#include "exec/cpu/kernel/cpu/simd_avx512bf16.h"

namespace pando::kernel {

// Replaces the kernel of the AVX-512 table for DType::kBF16Dot alone.
void bf16_dot_block(const LinearBlockArgs& args);
void bf16_dot_block(const LinearBlockArgs& args) {
  LinearBlock<SimdAvx512Bf16>::run_type<FloatBlock<SimdAvx512Bf16, DType::kBF16Dot>>(args);
}

}  // namespace pando::kernel
