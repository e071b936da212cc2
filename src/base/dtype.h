// Element types of weights and of keys and values.
#pragma once

namespace pando {

// What is known of each as a type of weights: kernel/weight_types.h.
enum class DType {
  kF32,
  kF16,
  kBF16,
  kQ8_0,     // blocks of 32 with an f16 scale: 8-bit integers
  kQ4_0,     // the same with 4-bit integers
  kI8,       // 8-bit integers with one f32 scale for each row; in memory only
  kQ4_K,     // blocks of 256, 4-bit integers; from GGUF files only (kernel/blocks.h)
  kQ6_K,     // blocks of 256; in GGUF files only
  kBF16Dot,  // bf16, and so is what it is multiplied with; in memory only
};

}  // namespace pando
