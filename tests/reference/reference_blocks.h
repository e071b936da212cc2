// Blocks of GGUF files as groups of 32 integers, written a second time from their layout, bit by
// bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/half.h"
#include "reference/reference_quantise.h"

namespace pando::reference {

struct BlockShape {
  int len, bytes;
  std::vector<int> f16_at;  // its numbers in f16 lie here
};

// Shapes of the types that products read as groups, except q8_0 and q4_0; and of q3_K, which
// becomes one.
inline BlockShape block_shape(DType type) {
  switch (type) {
    case DType::kQ4_1:
      return {32, 20, {0, 2}};
    case DType::kQ5_0:
      return {32, 22, {0}};
    case DType::kQ5_1:
      return {32, 24, {0, 2}};
    case DType::kIQ4_NL:
      return {32, 18, {0}};
    case DType::kMXFP4:
      return {32, 17, {}};
    case DType::kQ4_K:
      return {256, 144, {0, 2}};
    case DType::kQ5_K:
      return {256, 176, {0, 2}};
    case DType::kQ6_K:
      return {256, 210, {208}};
    case DType::kIQ4_XS:
      return {256, 136, {0}};
    case DType::kQ3_K:
      return {256, 110, {108}};
    default:
      return {0, 0, {}};
  }
}

// True if weights of a type are stored in blocks.
inline bool comes_in_blocks(DType type) { return block_shape(type).len > 0; }

namespace blocks {

// Bit `at` of the bytes.
inline int bit(const uint8_t* bytes, int at) { return bytes[at / 8] >> (at % 8) & 1; }
// n bits from `at` on.
inline int bits(const uint8_t* bytes, int at, int n) {
  int value = 0;
  for (int i = 0; i < n; ++i) value |= bit(bytes, at + i) << i;
  return value;
}
inline float f16(const uint8_t* at) {
  return f16_to_f32(static_cast<uint16_t>(at[0] | at[1] << 8));
}
// The four bits of weight i, where runs of n bytes hold first n weights, then n others.
inline int nibble(const uint8_t* bytes, int i, int n) {
  return bits(bytes, 8 * (i / (2 * n) * n + i % n) + 4 * (i / n % 2), 4);
}

constexpr int kIq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// Twice a number of one bit of sign, two of exponent and one of mantissa.
inline int e2m1(int code) {
  const int exponent = code >> 1 & 3, mantissa = code & 1;
  const int twice = exponent == 0 ? mantissa : (2 + mantissa) << (exponent - 1);
  return code >= 8 ? -twice : twice;
}

// Scale (which 0) or minimum (1) of group g in the twelve bytes of Q4_K and Q5_K.
inline int six_bits(const uint8_t* s, int g, int which) {
  if (g < 4) return bits(s, 8 * (4 * which + g), 6);
  return bits(s, 8 * (4 + g) + 4 * which, 4) + 16 * bits(s, 8 * (4 * which + g - 4) + 6, 2);
}

// Group g of a block.
inline Quantised group(DType type, const uint8_t* b, int g) {
  Quantised group{std::vector<int8_t>(32)};
  const auto set = [&](const auto& value) {
    for (int i = 0; i < 32; ++i) group.q[i] = static_cast<int8_t>(value(i));
  };
  switch (type) {
    case DType::kQ4_1:
      group.scale = f16(b), group.minimum = -f16(b + 2);
      set([&](int i) { return nibble(b + 4, i, 16); });
      break;
    case DType::kQ5_0:
      group.scale = f16(b);
      set([&](int i) { return nibble(b + 6, i, 16) + 16 * bit(b + 2, i) - 16; });
      break;
    case DType::kQ5_1:
      group.scale = f16(b), group.minimum = -f16(b + 2);
      set([&](int i) { return nibble(b + 8, i, 16) + 16 * bit(b + 4, i); });
      break;
    case DType::kIQ4_NL:
      group.scale = f16(b);
      set([&](int i) { return kIq4[nibble(b + 2, i, 16)]; });
      break;
    case DType::kMXFP4:
      group.scale = std::ldexp(1.0f, b[0] - 128);
      set([&](int i) { return e2m1(nibble(b + 1, i, 16)); });
      break;
    case DType::kQ4_K:
    case DType::kQ5_K: {
      const bool five = type == DType::kQ5_K;
      group.scale = f16(b) * static_cast<float>(six_bits(b + 4, g, 0));
      group.minimum = f16(b + 2) * static_cast<float>(six_bits(b + 4, g, 1));
      set([&](int i) {
        return nibble(b + (five ? 48 : 16), 32 * g + i, 32) +
               (five ? 16 * bit(b + 16, 8 * i + g) : 0);
      });
      break;
    }
    case DType::kQ6_K:
      group.scale = f16(b + 208);
      for (int half = 0; half < 2; ++half)
        group.factors[half] = static_cast<int8_t>(b[192 + 2 * g + half]);
      set([&](int i) {
        return nibble(b, 32 * g + i, 64) +
               16 * bits(b + 128, 8 * (g / 4 * 32 + i) + 2 * (g % 4), 2) - 32;
      });
      break;
    case DType::kQ3_K:
      group.scale = f16(b + 108);
      for (int half = 0; half < 2; ++half) {
        const int at = 2 * g + half;
        group.factors[half] = bits(b + 96, 8 * (at % 8) + at / 8 * 4, 4) +
                              16 * bits(b + 104, 8 * (at % 4) + at / 4 * 2, 2) - 32;
      }
      set([&](int i) {
        return bits(b + 32, 8 * (g / 4 * 32 + i) + 2 * (g % 4), 2) + 4 * bit(b, 8 * i + g) - 4;
      });
      break;
    default: {  // IQ4_XS
      const int factor = bits(b + 4, 4 * g, 4) + 16 * bits(b + 2, 2 * g, 2) - 32;
      group.scale = f16(b) * static_cast<float>(factor);
      set([&](int i) { return kIq4[nibble(b + 8, 32 * g + i, 16)]; });
    }
  }
  return group;
}

}  // namespace blocks

// n weights in whole blocks as groups of 32.
inline std::vector<Quantised> read_blocks(DType type, const void* bytes, int64_t n) {
  const BlockShape shape = block_shape(type);
  std::vector<Quantised> groups;
  const uint8_t* block = static_cast<const uint8_t*>(bytes);
  for (int64_t i = 0; i < n; i += shape.len, block += shape.bytes)
    for (int g = 0; g < shape.len / 32; ++g) groups.push_back(blocks::group(type, block, g));
  return groups;
}

// n weights in blocks of random bits, with a deviation near 1/16.
inline std::string random_blocks(DType type, int64_t n, uint64_t seed) {
  const BlockShape shape = block_shape(type);
  std::mt19937_64 random(seed);
  std::string bytes;
  const auto half = [&](double largest) {
    const double unit = static_cast<double>(random() >> 11) * 0x1p-53;
    return f32_to_f16(static_cast<float>((2 * unit - 1) * largest));
  };
  // Largest scale: small where factors and integers are large.
  const double largest = type == DType::kQ4_K                           ? 6e-4
                         : type == DType::kQ5_K                         ? 3e-4
                         : type == DType::kQ6_K || type == DType::kQ3_K ? 1e-4
                         : type == DType::kIQ4_XS                       ? 1e-4
                         : type == DType::kIQ4_NL                       ? 2e-3
                                                                        : 1.5e-2;
  const double minimum = shape.len == 256 ? 3e-3 : 1e-1;
  for (int64_t i = 0; i < n; i += shape.len) {
    std::string block;
    // In the order of the block, since hashes of answers depend on it.
    for (int j = 0; j < shape.bytes; ++j) {
      const bool first = !shape.f16_at.empty() && j == shape.f16_at[0];
      const bool second = shape.f16_at.size() > 1 && j == shape.f16_at[1];
      if (first || second) {
        const uint16_t bits = half(first ? largest : minimum);
        block.append(reinterpret_cast<const char*>(&bits), 2);
        ++j;
      } else {
        block += static_cast<char>(random());
      }
    }
    if (type == DType::kMXFP4) block[0] = static_cast<char>(120 + random() % 5);
    bytes += block;
  }
  return bytes;
}

}  // namespace pando::reference
