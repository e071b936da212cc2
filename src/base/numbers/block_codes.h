// Blocks of GGUF files that are groups of 32 integers with factors, little-endian:
//
//   Q8_0, 32 weights: f16 d; s8 q[32]                           w = d q
//   Q4_0, 32 weights: f16 d; u8 b[16]                           w = d (q - 8)
//     b[i] holds weight i in its low half and weight i + 16 in its high half
//   Q4_1, 32 weights: f16 d; f16 m; u8 b[16]                    w = d q + m
//   Q5_0, 32 weights: f16 d; u32 h; u8 b[16]                    w = d (q - 16)
//     bit i of h is the fifth of weight i
//   Q5_1, 32 weights: f16 d; f16 m; u32 h; u8 b[16]             w = d q + m
//   Q4_K, 256 weights: f16 d; f16 m; u8 s[12]; u8 b[128]        w = d s q - m t
//     s and t of six bits for each 32 weights
//   Q5_K, 256 weights: f16 d; f16 m; u8 s[12]; u8 h[32]; u8 b[128]    the same
//     bit g of h[i] is the fifth of weight i of group g
//   Q6_K, 256 weights: u8 low[128]; u8 high[64]; s8 s[16]; f16 d      w = d s (q - 32)
//     s for each 16 weights
//   Q3_K, 256 weights: u8 h[32]; u8 b[64]; u8 s[12]; f16 d            w = d (s - 32) (q - 4)
//     s of six bits for each 16 weights; the third bit of a weight is in h
//   IQ4_NL, 32 weights: f16 d; u8 b[16]                         w = d table[q]
//   IQ4_XS, 256 weights: f16 d; u16 high; u8 low[4]; u8 b[128]  w = d (s - 32) table[q]
//     s for each 32 weights: four bits in low, two in high
//   MXFP4, 32 weights: u8 e; u8 b[16]                           w = 2^(e - 128) table[q]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace pando {

// One block as its packed type has it: integers as they are stored there
// (base/numbers/group_form.h).
struct BlockCodes {
  uint16_t d = 0, m = 0;   // f16
  int8_t scales[16] = {};  // factors of d, one for each group or half group; the bits of e
  uint8_t minima[8] = {};  // factors of m
  uint8_t q[256];
};

void read_q8_0(const std::byte* block, BlockCodes& to);
void read_q4_0(const std::byte* block, BlockCodes& to);
void read_q4_1(const std::byte* block, BlockCodes& to);
void read_q5_0(const std::byte* block, BlockCodes& to);
void read_q5_1(const std::byte* block, BlockCodes& to);
void read_q4_k(const std::byte* block, BlockCodes& to);
void read_q5_k(const std::byte* block, BlockCodes& to);
void read_q6_k(const std::byte* block, BlockCodes& to);
void read_q3_k(const std::byte* block, BlockCodes& to);  // as q6_K
void read_iq4_nl(const std::byte* block, BlockCodes& to);
void read_iq4_xs(const std::byte* block, BlockCodes& to);
void read_mxfp4(const std::byte* block, BlockCodes& to);

// The n weights of a block of a packed type as f32. Integer factors are multiplied exactly; every
// other operation rounds, in the order written above.
void widen_codes(DType packed, const BlockCodes& block, int n, float* to);

}  // namespace pando
