#include "base/numbers/blocks.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/half.h"
#include "base/numbers/block_codes.h"
#include "base/numbers/grid_blocks.h"

namespace pando {
namespace {

// True if no exponent is all ones. Has no branch, so that it runs on whole registers.
template <class T>
bool finite_elements(const std::byte* from, int64_t n, T exponent) {
  T found = 0;
  for (int64_t i = 0; i < n; ++i) {
    T bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    found |= static_cast<T>((bits & exponent) == exponent);
  }
  return found == 0;
}

constexpr uint16_t kF16Exponent = 0x7C00;

// n elements of two bytes as f32, at any byte.
void widen(DType type, const std::byte* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    to[i] = type == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
  }
}

// True if `test` holds for every block.
template <class Test>
bool every_block(DType type, const std::byte* from, int64_t n, const Test& test) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(n % info.block_len == 0);
  bool all = true;
  for (int64_t i = 0; i < n; i += info.block_len, from += info.block_bytes) all = test(from) && all;
  return all;
}

}  // namespace

bool all_finite_f32(DType, const std::byte* from, int64_t n) {
  return finite_elements<uint32_t>(from, n, 0x7F80'0000);
}
bool all_finite_f16(DType, const std::byte* from, int64_t n) {
  return finite_elements(from, n, kF16Exponent);
}
bool all_finite_bf16(DType, const std::byte* from, int64_t n) {
  return finite_elements<uint16_t>(from, n, 0x7F80);
}
bool all_finite_blocks(DType type, const std::byte* from, int64_t n, int at, int n_factors) {
  return every_block(type, from, n, [=](const std::byte* block) {
    return finite_elements(block + at, n_factors, kF16Exponent);
  });
}
bool all_finite_powers(DType type, const std::byte* from, int64_t n) {
  // 12 * 2^(252 - 128) is below 2^128, twice of it is not.
  return every_block(type, from, n,
                     [](const std::byte* block) { return *block <= std::byte{252}; });
}
bool all_finite_iq1_m(DType type, const std::byte* from, int64_t n) {
  return every_block(type, from, n, [](const std::byte* block) {
    return (iq1_m_scale(block) & kF16Exponent) != kF16Exponent;
  });
}

void read_weights(DType type, const std::byte* from, int64_t n, float* to) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(info.is_in_files() && n % info.block_len == 0);
  if (type == DType::kF32) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(float));
    return;
  }
  if (info.block_len == 1) return widen(type, from, n, to);
  BlockCodes codes;
  for (int64_t i = 0; i < n; i += info.block_len, from += info.block_bytes) {
    if (info.read_codes != nullptr) {
      info.read_codes(from, codes);
      widen_codes(info.codes, codes, info.block_len, to + i);
    } else {
      info.read_block(from, to + i);
    }
  }
}

bool all_finite(DType type, const std::byte* from, int64_t n) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(info.is_in_files());
  return info.all_finite(type, from, n);
}

}  // namespace pando
