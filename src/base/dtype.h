// Element types of weights and of keys and values.
#pragma once

#include <cstddef>
#include <string_view>

namespace pando {

enum class DType { kF32, kF16, kBF16, kQ8_0 };

// Bytes of one element. Q8_0 is a block type and has no size of its own: 0.
constexpr size_t dtype_size(DType type) {
  return type == DType::kF32 ? 4 : type == DType::kQ8_0 ? 0 : 2;
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
  }
  return "?";
}

}  // namespace pando
