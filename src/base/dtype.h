// Element types of weights and of keys and values.
#pragma once

namespace pando {

// base/numbers/weight_types.h describes each as a type of weights. All types in blocks are GGUF's;
// base/numbers/block_codes.h and base/numbers/grid_blocks.h describe their blocks.
enum class DType {
  kF32,
  kF16,
  kBF16,
  kQ8_0,     // blocks of 32 with an f16 scale: 8-bit integers
  kQ4_0,     // the same with 4-bit integers
  kI8,       // 8-bit integers with one f32 scale for each row; in memory only
  kQ4_K,     // blocks of 256, 4-bit integers
  kQ6_K,     // blocks of 256, 6-bit integers
  kBF16Dot,  // bf16, multiplied with bf16 activations; in memory only
  kQ4_1,     // blocks of 32 with a scale and a minimum
  kQ5_0,
  kQ5_1,
  kQ5_K,
  kIQ4_NL,  // 4-bit numbers of a table's integers
  kIQ4_XS,
  kMXFP4,  // the same with a power of two as scale
  kQ2_K,   // in files only, as are all that follow
  kQ3_K,
  kIQ2_XXS,
  kIQ2_XS,
  kIQ2_S,
  kIQ3_XXS,
  kIQ3_S,
  kIQ1_S,
  kIQ1_M,
  kTQ1_0,
  kTQ2_0,
};

}  // namespace pando
