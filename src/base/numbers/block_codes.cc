#include "base/numbers/block_codes.h"

#include <bit>
#include <cstring>

#include "base/half.h"
#include "base/numbers/group_form.h"

namespace pando {
namespace {

const uint8_t* block_bytes_at(const std::byte* from) {
  return reinterpret_cast<const uint8_t*>(from);
}

template <class T>
T number_at(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Reads n weights of four bits, two to a byte: for each `run` bytes first the low halves, then the
// high ones.
void read_nibbles(const std::byte* from, int n, int run, uint8_t* q) {
  const uint8_t* b = block_bytes_at(from);
  for (int i = 0; i < n; i += 2 * run, b += run)
    for (int j = 0; j < run; ++j) {
      q[i + j] = b[j] & 15;
      q[i + run + j] = b[j] >> 4;
    }
}

void add_fifth_bits(uint32_t bits, uint8_t* q) {
  for (int i = 0; i < 32; ++i) q[i] |= static_cast<uint8_t>((bits >> i & 1) << 4);
}

// The twelve bytes hold eight scales and eight minima of six bits: in the low six bits of s[0..3]
// and s[4..7] those of the first four groups; the others have four bits in s[8..11] and two above
// the first ones'.
void read_k_factors(const std::byte* from, BlockCodes& to) {
  to.d = number_at<uint16_t>(from);
  to.m = number_at<uint16_t>(from + 2);
  const uint8_t* s = block_bytes_at(from + 4);
  for (int group = 0; group < 8; ++group) {
    const int scale = group < 4 ? s[group] & 63 : (s[group + 4] & 15) | (s[group - 4] >> 6) << 4;
    const int low = group < 4 ? s[group + 4] & 63 : s[group + 4] >> 4 | (s[group] >> 6) << 4;
    to.scales[group] = static_cast<int8_t>(scale);
    to.minima[group] = static_cast<uint8_t>(low);
  }
}

// 2^(e - 128), which is below the normal numbers for the least two.
float power_of(uint8_t e) {
  return std::bit_cast<float>(e < 2 ? 0x0020'0000u << e : (e - 1u) << 23);
}

}  // namespace

void read_q8_0(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  for (int i = 0; i < 32; ++i) to.q[i] = block_bytes_at(block)[2 + i] ^ 0x80;
}

void read_q4_0(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  read_nibbles(block + 2, 32, 16, to.q);
}

void read_q4_1(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  to.m = number_at<uint16_t>(block + 2);
  read_nibbles(block + 4, 32, 16, to.q);
}

void read_q5_0(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  read_nibbles(block + 6, 32, 16, to.q);
  add_fifth_bits(number_at<uint32_t>(block + 2), to.q);
}

void read_q5_1(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  to.m = number_at<uint16_t>(block + 2);
  read_nibbles(block + 8, 32, 16, to.q);
  add_fifth_bits(number_at<uint32_t>(block + 4), to.q);
}

void read_q4_k(const std::byte* block, BlockCodes& to) {
  read_k_factors(block, to);
  read_nibbles(block + 16, 256, 32, to.q);
}

void read_q5_k(const std::byte* block, BlockCodes& to) {
  read_k_factors(block, to);
  read_nibbles(block + 48, 256, 32, to.q);
  const uint8_t* high = block_bytes_at(block + 16);
  for (int i = 0; i < 256; ++i)
    to.q[i] |= static_cast<uint8_t>((high[i % 32] >> (i / 32) & 1) << 4);
}

void read_q6_k(const std::byte* block, BlockCodes& to) {
  // Each half of 128 weights is four runs of 32: runs 0 and 1 in the low halves of 64 bytes, 2 and
  // 3 in the high ones; their upper two bits share 32 bytes.
  read_nibbles(block, 256, 64, to.q);
  const uint8_t* high = block_bytes_at(block + 128);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32;
    to.q[i] |= static_cast<uint8_t>((high[half * 32 + i % 32] >> (2 * run) & 3) << 4);
  }
  std::memcpy(to.scales, block + 192, 16);
  to.d = number_at<uint16_t>(block + 208);
}

void read_q3_k(const std::byte* block, BlockCodes& to) {
  const uint8_t* high = block_bytes_at(block);
  const uint8_t* low = block_bytes_at(block + 32);
  const uint8_t* s = block_bytes_at(block + 96);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, run = i % 128 / 32;
    const int bits = low[half * 32 + i % 32] >> (2 * run) & 3;
    const int third = high[i % 32] >> (i / 32) & 1;
    to.q[i] = static_cast<uint8_t>(32 - 4 + bits + 4 * third);
  }
  for (int i = 0; i < 16; ++i) {
    const int bits = i < 8 ? s[i] & 15 : s[i - 8] >> 4;
    to.scales[i] = static_cast<int8_t>((bits | (s[8 + i % 4] >> (i / 4 * 2) & 3) << 4) - 32);
  }
  to.d = number_at<uint16_t>(block + 108);
}

void read_iq4_nl(const std::byte* block, BlockCodes& to) { read_q4_0(block, to); }

void read_iq4_xs(const std::byte* block, BlockCodes& to) {
  to.d = number_at<uint16_t>(block);
  const int high = number_at<uint16_t>(block + 2);
  const uint8_t* low = block_bytes_at(block + 4);
  for (int group = 0; group < 8; ++group) {
    const int bits = low[group / 2] >> (group % 2 * 4) & 15;
    to.scales[group] = static_cast<int8_t>((bits | (high >> (2 * group) & 3) << 4) - 32);
  }
  read_nibbles(block + 8, 256, 16, to.q);
}

void read_mxfp4(const std::byte* block, BlockCodes& to) {
  to.scales[0] = static_cast<int8_t>(*block);
  read_nibbles(block + 1, 32, 16, to.q);
}

void widen_codes(DType packed, const BlockCodes& block, int n, float* to) {
  const GroupForm form = group_form(packed);
  const uint8_t* table = code_table(packed);
  const float m = f16_to_f32(block.m);
  const float d = packed == DType::kMXFP4 ? power_of(static_cast<uint8_t>(block.scales[0]))
                                          : f16_to_f32(block.d);
  for (int i = 0; i < n; i += form.factor_len) {
    const int part = i / form.factor_len;
    const float scale = form.heads > 0 ? d * static_cast<float>(block.scales[part]) : d;
    for (int j = i; j < i + form.factor_len; ++j) {
      const int q = (table != nullptr ? table[block.q[j]] : block.q[j]) - form.offset;
      to[j] = scale * static_cast<float>(q);
    }
    if (!form.minima) continue;
    const float minimum = form.heads > 0 ? -(m * static_cast<float>(block.minima[part])) : m;
    for (int j = i; j < i + form.factor_len; ++j) to[j] += minimum;
  }
}

}  // namespace pando
