#include "kernel/blocks.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/half.h"

namespace pando::kernel {
namespace {

float read_f16(const std::byte* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return f16_to_f32(bits);
}

const uint8_t* bytes(const std::byte* from) { return reinterpret_cast<const uint8_t*>(from); }

// Whether no exponent is all ones. Without a branch, so that it takes whole registers.
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

// n elements as f32. Where they lie at a byte that their type does not allow, as files may hold
// them, they are copied first, a piece at a time.
void widen(const Kernels& kernels, const WeightTypeInfo& info, const std::byte* from, int64_t n,
           float* to) {
  if (reinterpret_cast<uintptr_t>(from) % info.block_bytes == 0)
    return kernels.widen(info.type, from, n, to);
  constexpr int64_t kPiece = 1024;  // elements
  alignas(float) std::byte piece[kPiece * sizeof(float)];
  const auto size = static_cast<int64_t>(info.block_bytes);
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t some = std::min(kPiece, n - i);
    std::memcpy(piece, from + i * size, static_cast<size_t>(some * size));
    kernels.widen(info.type, piece, some, to + i);
  }
}

// Of n weights in blocks, each with n_factors in f16 from byte `at` on.
bool finite_blocks(DType type, const std::byte* from, int64_t n, int at, int n_factors) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(n % info.block_len == 0);
  bool finite = true;
  for (int64_t i = 0; i < n; i += info.block_len, from += info.block_bytes)
    finite = finite_elements(from + at, n_factors, kF16Exponent) && finite;
  return finite;
}

}  // namespace

void read_q8_0(const std::byte* block, float* to) {
  const float d = read_f16(block);
  for (int i = 0; i < 32; ++i) to[i] = d * static_cast<int8_t>(block[2 + i]);
}

void read_q4_0(const std::byte* block, float* to) {
  const float d = read_f16(block);
  const uint8_t* b = bytes(block + 2);
  for (int i = 0; i < 16; ++i) {
    to[i] = d * static_cast<float>((b[i] & 15) - 8);
    to[16 + i] = d * static_cast<float>((b[i] >> 4) - 8);
  }
}

void read_q4_k(const std::byte* from, float* to) {
  const Q4KBlock block = read_q4_k_block(from);
  const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
  for (int i = 0; i < 256; ++i)
    to[i] = d * static_cast<float>(block.scales[i / 32]) * static_cast<float>(block.q[i]) -
            m * static_cast<float>(block.minima[i / 32]);
}

void read_q6_k(const std::byte* block, float* to) {
  const uint8_t* low = bytes(block);
  const uint8_t* high = low + 128;
  const int8_t* scales = reinterpret_cast<const int8_t*>(low + 192);
  const float d = read_f16(block + 208);
  // Each half of 128 weights is four runs of 32: runs 0 and 1 in the low halves of 64 bytes, 2 and
  // 3 in the high ones; their upper two bits share 32 bytes.
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32, at = i % 32;
    const int byte = low[half * 64 + run % 2 * 32 + at];
    const int top = high[half * 32 + at] >> (2 * run) & 3;
    const int q = (run < 2 ? byte & 15 : byte >> 4) | top << 4;
    to[i] = d * static_cast<float>(scales[i / 16]) * static_cast<float>(q - 32);
  }
}

bool all_finite_f32(const std::byte* from, int64_t n) {
  return finite_elements<uint32_t>(from, n, 0x7F80'0000);
}
bool all_finite_f16(const std::byte* from, int64_t n) {
  return finite_elements(from, n, kF16Exponent);
}
bool all_finite_bf16(const std::byte* from, int64_t n) {
  return finite_elements<uint16_t>(from, n, 0x7F80);
}
bool all_finite_q8_0(const std::byte* from, int64_t n) {
  return finite_blocks(DType::kQ8_0, from, n, 0, 1);
}
bool all_finite_q4_0(const std::byte* from, int64_t n) {
  return finite_blocks(DType::kQ4_0, from, n, 0, 1);
}
bool all_finite_q4_k(const std::byte* from, int64_t n) {
  return finite_blocks(DType::kQ4_K, from, n, 0, 2);
}
bool all_finite_q6_k(const std::byte* from, int64_t n) {
  return finite_blocks(DType::kQ6_K, from, n, 208, 1);
}

// The twelve bytes hold eight scales and eight minima of six bits: in the low six bits of s[0..3]
// and s[4..7] those of the first four groups; the others have four bits in s[8..11] and two above
// the first ones'.
Q4KBlock read_q4_k_block(const std::byte* from) {
  Q4KBlock block;
  std::memcpy(&block.d, from, sizeof block.d);
  std::memcpy(&block.m, from + 2, sizeof block.m);
  const uint8_t* s = bytes(from + 4);
  const uint8_t* b = bytes(from + 16);
  for (int group = 0; group < Q4KBlock::kGroups; ++group) {
    const int scale = group < 4 ? s[group] & 63 : (s[group + 4] & 15) | (s[group - 4] >> 6) << 4;
    const int low = group < 4 ? s[group + 4] & 63 : s[group + 4] >> 4 | (s[group] >> 6) << 4;
    block.scales[group] = static_cast<uint8_t>(scale);
    block.minima[group] = static_cast<uint8_t>(low);
    // Two groups share 32 bytes: low halves, then high halves.
    for (int i = 0; i < 32; ++i) {
      const int byte = b[group / 2 * 32 + i];
      block.q[group * 32 + i] = static_cast<int8_t>(group % 2 == 0 ? byte & 15 : byte >> 4);
    }
  }
  return block;
}

void read_weights(const Kernels& kernels, DType type, const std::byte* from, int64_t n, float* to) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(info.is_in_files() && n % info.block_len == 0);
  if (info.read_block == nullptr) return widen(kernels, info, from, n, to);
  for (int64_t i = 0; i < n; i += info.block_len, from += info.block_bytes)
    info.read_block(from, to + i);
}

bool all_finite(DType type, const std::byte* from, int64_t n) {
  const WeightTypeInfo& info = info_of(type);
  PANDO_CHECK(info.is_in_files());
  return info.all_finite(from, n);
}

}  // namespace pando::kernel
