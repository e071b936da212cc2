// Blocks of GGUF files that are packed as q8_0, 256 weights each, little-endian. A d is f16; s and
// t are factors of four bits for 16 weights, or of three or four for 32:
//
//   Q2_K     u8 s[16]; u8 b[64]; f16 d; f16 m          w = d s q - m t
//   IQ2_XXS  f16 d; u32 b[8][2]                        w = d (s + 1/2) / 4 * +-grid
//   IQ2_XS   f16 d; u16 b[32]; u8 s[8]                 the same
//   IQ2_S    f16 d; u8 b[32]; u8 signs[32]; u8 h[8]; u8 s[8]     the same
//   IQ3_XXS  f16 d; u8 b[64]; u32 s[8]                 w = d (s + 1/2) / 2 * +-grid
//   IQ3_S    f16 d; u8 b[64]; u8 h[8]; u8 signs[32]; u8 s[4]     w = d (2 s + 1) * +-grid
//   IQ1_S    f16 d; u8 b[32]; u16 h[8]                 w = d (2 s + 1) (grid +- 1/8)
//   IQ1_M    u8 b[32]; u8 h[16]; u16 s[4]              the same; d lies in the upper bits of s
//   TQ1_0    u8 b[48]; u8 h[4]; f16 d                  w = d (q - 1), five q of three to a byte
//   TQ2_0    u8 b[64]; f16 d                           w = d (q - 1)
//
// Every product is exact in f32; Q2_K rounds its difference.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pando {

// One block as f32, [256].
void read_q2_k(const std::byte* block, float* to);
void read_iq2_xxs(const std::byte* block, float* to);
void read_iq2_xs(const std::byte* block, float* to);
void read_iq2_s(const std::byte* block, float* to);
void read_iq3_xxs(const std::byte* block, float* to);
void read_iq3_s(const std::byte* block, float* to);
void read_iq1_s(const std::byte* block, float* to);
void read_iq1_m(const std::byte* block, float* to);
void read_tq1_0(const std::byte* block, float* to);
void read_tq2_0(const std::byte* block, float* to);

// The d of a block of IQ1_M, f16.
uint16_t iq1_m_scale(const std::byte* block);

}  // namespace pando
