// Blocks of quantised weights as GGUF files hold them, little-endian:
//
//   Q8_0, 32 weights: f16 d; s8 q[32]                           w = d q
//   Q4_0, 32 weights: f16 d; u8 b[16]                           w = d (q - 8)
//     b[i] holds weight i in its low half and weight i + 16 in its high half
//   Q4_K, 256 weights: f16 d; f16 m; u8 s[12]; u8 b[128]        w = d s q - m t
//     s and t of six bits for each 32 weights
//   Q6_K, 256 weights: u8 low[128]; u8 high[64]; s8 s[16]; f16 d    w = d s (q - 32)
//     s for each 16 weights
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "kernel/kernels.h"
#include "kernel/weight_types.h"

namespace pando::kernel {

// One block of Q4_K with its six-bit factors apart.
struct Q4KBlock {
  static constexpr int kGroups = 8;  // of 32 weights
  uint16_t d, m;                     // f16
  uint8_t scales[kGroups];
  uint8_t minima[kGroups];
  int8_t q[256];  // 0 to 15
};
Q4KBlock read_q4_k_block(const std::byte* block);

// One block as f32: the readers of kernel/weight_types.h. The integer factors of a block are
// multiplied exactly; every other operation rounds, in the order written above.
void read_q8_0(const std::byte* block, float* to);
void read_q4_0(const std::byte* block, float* to);
void read_q4_k(const std::byte* block, float* to);
void read_q6_k(const std::byte* block, float* to);

// Whether n weights, whole blocks of them, are finite numbers. Only a block's factors can be other
// than finite; their products fit f32.
bool all_finite_f32(const std::byte* from, int64_t n);
bool all_finite_f16(const std::byte* from, int64_t n);
bool all_finite_bf16(const std::byte* from, int64_t n);
bool all_finite_q8_0(const std::byte* from, int64_t n);
bool all_finite_q4_0(const std::byte* from, int64_t n);
bool all_finite_q4_k(const std::byte* from, int64_t n);
bool all_finite_q6_k(const std::byte* from, int64_t n);

// n weights of any stored type, whole blocks of them, at any byte, as f32.
void read_weights(const Kernels& kernels, DType type, const std::byte* from, int64_t n, float* to);

// Whether n weights of any stored type, whole blocks of them, are finite numbers.
bool all_finite(DType type, const std::byte* from, int64_t n);

}  // namespace pando::kernel
