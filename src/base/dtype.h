// Element types of weights and of keys and values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pando {

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

// Bytes of one element that a file holds; 0 for types that come in blocks, or in memory only.
constexpr size_t dtype_size(DType type) {
  return type == DType::kF32 ? 4 : type == DType::kF16 || type == DType::kBF16 ? 2 : 0;
}

constexpr std::string_view dtype_name(DType type) {
  switch (type) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kQ8_0:
      return "q8_0";
    case DType::kQ4_0:
      return "q4_0";
    case DType::kI8:
      return "int8";
    case DType::kQ4_K:
      return "q4_K";
    case DType::kQ6_K:
      return "q6_K";
    case DType::kBF16Dot:
      return "bf16_dot";
  }
  return "?";
}

}  // namespace pando
