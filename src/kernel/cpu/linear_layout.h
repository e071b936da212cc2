// Where the weights and the activations of a matrix product lie in memory: the one description.
//
// Weights [n, k]: outputs in strips of 16, three strips to a panel (the last panel may have fewer);
// inputs in units of 2 (f32, f16, bf16) or 64 (q8_0). Outer to inner
//
//   f32, f16   [panel] [unit] [strip] [2 inputs] [16 outputs]
//   bf16       [panel] [unit] [strip] [16 outputs] [2 inputs]      widens by one shift and one mask
//   q8_0       [panel] [unit], and in a unit two groups of 32 inputs:
//              [group] [8] [strip] [16 outputs] [4 inputs] u8, the integer + 128; then
//              [group] [strip] [16 outputs] f16 scales
//
// so that a panel is read from its first byte to its last.
//
// Activations [m, k]: rows in tiles of at most kTileRows, inputs in slices whose weights, 512 bytes
// an output, stay in the first-level cache with a panel of 48 outputs. Outer to inner
//
//   [tile] [slice] [row block] [input] [row] f32                        for f32, f16 and bf16
//   weights [tile] [slice] [row block] [group] [row] QuantizedGroup             for q8_0
//
// A tile has the fewest row blocks that the kernels allow, of nearly equal size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace pando::kernel {

constexpr int kStripLen = 16;  // outputs
constexpr int kPanelStrips = 3;
constexpr int kPanelLen = kStripLen * kPanelStrips;
constexpr int kGroupLen = 32;              // inputs that share a q8_0 scale
constexpr int kStripQuad = 4 * kStripLen;  // bytes of four inputs of a strip in q8_0
constexpr int kQuads = kGroupLen / 4;      // of a group
constexpr int kTileRows = 256;

// 32 activations of one row as q * scale.
struct QuantizedGroup {
  int8_t q[kGroupLen];
  float scale;
  int32_t bias;  // -128 * the sum of q: undoes the offset of the weights
};

// All of these are compiled for several instruction sets, hence `static`.
static constexpr int unit_len(DType type) { return type == DType::kQ8_0 ? 2 * kGroupLen : 2; }
static constexpr int unit_count(DType type, int k) {
  return (k + unit_len(type) - 1) / unit_len(type);
}
// Bytes of one unit of one strip.
static constexpr int unit_bytes(DType type) {
  return type == DType::kQ8_0 ? 2 * (kQuads * kStripQuad + kStripLen * 2)
                              : 2 * kStripLen * (type == DType::kF32 ? 4 : 2);
}
static constexpr int slice_units(DType type) {
  return type == DType::kQ8_0 ? 8 : type == DType::kF32 ? 64 : 128;
}
// Bytes of one packed row of activations for one unit.
static constexpr int packed_unit_bytes(DType type) {
  return type == DType::kQ8_0 ? 2 * sizeof(QuantizedGroup) : 2 * sizeof(float);
}
// First row of block `block` when m rows are cut into n_blocks; also of tiles.
static constexpr int first_of(int block, int n_blocks, int m) {
  return static_cast<int>(int64_t{block} * m / n_blocks);
}

}  // namespace pando::kernel
