// AMX's tile registers: eight of up to sixteen rows of 64 bytes. Only for translation units
// compiled with AMX-TILE and AMX-INT8; the process must have asked for the registers
// (kernels_amx.cc).
#pragma once

#include <cstdint>

#include "exec/cpu/kernel/cpu/simd_avx512.h"

namespace pando::kernel {

struct SimdAmx : SimdAvx512 {
  static constexpr bool kTiles = true;

  // Integers without their offset.
  static void store_weights(int8_t* p, Weights w, int offset) {
    _mm512_store_si512(p, _mm512_sub_epi8(w, _mm512_set1_epi8(static_cast<char>(offset))));
  }
  static I load_dots(const int32_t* p) { return _mm512_load_si512(p); }
  static void store_dots(int32_t* p, I x) { _mm512_store_si512(p, x); }
};

constexpr int kTileRegisterRows = 16;
constexpr int kTileRowBytes = 64;

// Shapes of all eight tile registers of the calling thread, while this lives: [0, 4) hold n_rows
// rows of sixteen sums, 4 holds n_rows rows of `bytes` activations, and [5, 8) hold their weights,
// four inputs to a row. With other_bytes, 6 holds activations of that many bytes, and 7 their
// weights.
class TileShapes {
 public:
  TileShapes(int n_rows, int bytes, int other_bytes = 0) {
    Config config = {};
    config.palette = 1;
    for (int i = 0; i < 8; ++i) {
      const int own_bytes = i >= 6 && other_bytes > 0 ? other_bytes : bytes;
      const bool activations = i == 4 || (i == 6 && other_bytes > 0);
      config.row_bytes[i] = activations ? own_bytes : kTileRowBytes;
      config.n_rows[i] = i < 4 || activations ? n_rows : own_bytes / 4;
    }
    asm volatile("ldtilecfg %0" : : "m"(config));
  }
  ~TileShapes() { asm volatile("tilerelease"); }
  TileShapes(const TileShapes&) = delete;
  TileShapes& operator=(const TileShapes&) = delete;

 private:
  struct Config {
    uint8_t palette;
    uint8_t start_row;
    uint8_t reserved[14];
    uint16_t row_bytes[16];
    uint8_t n_rows[16];
  };
};

// Inline assembly, since GCC's intrinsics do not say that they read memory. `stride`: bytes from
// one row to the next.
template <int kTile>
[[gnu::always_inline]] static inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" : : "i"(kTile));
}
template <int kTile>
[[gnu::always_inline]] static inline void tile_load(const void* p, int64_t stride) {
  asm volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}
template <int kTile>
[[gnu::always_inline]] static inline void tile_store(void* p, int64_t stride) {
  asm volatile("tilestored %%tmm%c0, (%1,%2,1)" : : "i"(kTile), "r"(p), "r"(stride) : "memory");
}
// Sums += products of s8 activations and s8, or u8, weights.
template <int kSums, int kActivations, int kWeights>
[[gnu::always_inline]] static inline void tile_dot_signed() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0"
               :
               : "i"(kSums), "i"(kActivations), "i"(kWeights));
}
template <int kSums, int kActivations, int kWeights>
[[gnu::always_inline]] static inline void tile_dot_unsigned() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0"
               :
               : "i"(kSums), "i"(kActivations), "i"(kWeights));
}

// Sums += products of u8 shares and s8 values.
template <int kSums, int kShares, int kValues>
[[gnu::always_inline]] static inline void tile_dot_shares() {
  asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kShares), "i"(kValues));
}

}  // namespace pando::kernel
