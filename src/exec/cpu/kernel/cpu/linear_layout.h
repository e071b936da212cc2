// Memory layout of the weights and activations of a matrix product. Only the activations for tile
// registers are described elsewhere (linear_tiles.h).
//
// Weights [n, k]: outputs in strips of 16, three strips to a panel (the last panel may have fewer);
// inputs in units of 2 (f32, f16, bf16, bf16_dot), 64 (integers) or 256 (q4_K and others with
// heads, group_form.h). Outer to inner
//
//   f32, f16   [panel] [unit] [strip] [2 inputs] [16 outputs]
//   bf16       [panel] [unit] [strip] [16 outputs] [2 inputs]      widens by one shift and one mask
//   bf16_dot   the same
//   groups     [panel] [unit]: [strip] { [heads] [16 outputs] f16 }, and then pairs of groups of 32
//              inputs: [group] [vector] [strip] [16 outputs] [4 bytes];
//              [group] [strip] factors
//   int8       [panel] { [unit] [16] [strip] [16 outputs] [4 inputs] u8, the integer + 128; then
//              [strip] [16 outputs] f32 scales }
//
// Vectors of a group (quad i: inputs [4 i, 4 i + 4), one to a byte):
//
//   8 bits     8: the quads
//   4 bits     4: in the low halves of bytes one quad, in the high halves another (half_quad)
//   5 bits     one whose bit i is the fifth of quad i, and the same 4
//   6 bits     two whose bits 2 i and 2 i + 1 are the upper ones of quad i, or 4 + i; the same 4
//
// Heads and factors, [16 outputs] each:
//
//   q8_0, q4_0, q5_0, iq4_nl    f16 scales
//   q4_1, q5_1                  f16 scales, f16 minima
//   mxfp4                       u8 exponents of the scales
//   q4_K, q5_K                  heads: f16 scales, f16 minima, negated; u8 factors of both
//   q6_K                        heads: f16 scales; s8 factors of the first 16 inputs, of the others
//   iq4_xs                      heads: f16 scales; s8 factors
//
// so that a panel is read from its first byte to its last.
//
// Activations [m, k]: rows in tiles of at most kTileRows, inputs in slices whose weights, 512 bytes
// an output, stay in the first-level cache with a panel of 48 outputs. Outer to inner
//
//   [tile] [slice] [row block] [input] [row] f32                        for f32, f16 and bf16
//   [tile] [slice] [row block] [unit] [row] [2 inputs] bf16             for bf16_dot
//   [tile] [slice] [row block] [group] [row] QuantizedGroup             for groups
//   [tile] [slice] [row block] { [row] QuantizedRow, [16 per unit] [row] [4 inputs] s8 } for int8
//
// A tile has the fewest row blocks that the kernels allow, of nearly equal size.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/numbers/group_form.h"

namespace pando::kernel {

constexpr int kStripLen = 16;  // outputs
constexpr int kPanelStrips = 3;
constexpr int kPanelLen = kStripLen * kPanelStrips;
constexpr int kGroupLen = 32;              // inputs that share a scale of the activations
constexpr int kStripQuad = 4 * kStripLen;  // bytes of four inputs of a strip, one byte each
constexpr int kQuads = kGroupLen / 4;      // of a group
// A tile is read again for each panel: as many rows, up to kTileRows, as a second-level cache of
// 1 MiB holds beside weights; not fewer than outweigh reading all weights again for the next tile.
constexpr int kTileRows = 256, kLeastTileRows = 64;
constexpr int64_t kTileBytes = 768 * 1024;

// 32 activations of one row as q * scale.
struct QuantizedGroup {
  int8_t q[kGroupLen];
  float scale;
  int32_t bias;       // -128 * the sum of q: undoes the offset of the weights
  int32_t half_bias;  // the same of the first 16
  float sum;          // scale * the sum of q: for minima
};

// Activations of one row in one slice, for int8.
struct QuantizedRow {
  float scale;   // of the whole row
  int32_t bias;  // -128 * the sum of the slice's integers
};

// In bf16_dot smaller weights and activations are zero, so that no product and no sum is denormal:
// instructions for pairs of bf16 take such as zero, other arithmetic does not.
constexpr float kLeastDot = 0x1p-50f;

// Sums of K products of two integers below 128 fit int32 up to here.
constexpr int kMaxInt8Inputs = 131'072;

// All of these are compiled for several instruction sets, hence `static`.
static constexpr bool is_grouped(DType type) { return group_form(type).code_bits > 0; }
static constexpr bool is_halves(DType type) {  // two integers to a byte, or their lower four bits
  return is_grouped(type) && group_form(type).code_bits < 8;
}
static constexpr bool is_quantized(DType type) { return is_grouped(type) || type == DType::kI8; }
// Groups of 32 come in pairs.
static constexpr int unit_pairs(DType type) { return group_form(type).heads > 0 ? 4 : 1; }
static constexpr int unit_groups(DType type) { return 2 * unit_pairs(type); }
static constexpr int unit_len(DType type) {
  return is_quantized(type) ? unit_groups(type) * kGroupLen : 2;
}
static constexpr int unit_count(DType type, int k) {
  return (k + unit_len(type) - 1) / unit_len(type);
}
// The quad whose integers lie in the low or high halves of vector `vector`. With factors of 16
// inputs each half of a group lies by itself.
static constexpr int half_quad(DType type, int vector, bool high) {
  return group_form(type).factor_len == 16 ? vector / 2 * 4 + vector % 2 + 2 * high
                                           : vector + 4 * high;
}
// Vectors of a group in one strip: those with upper bits of the integers, and all of them.
static constexpr int upper_vectors(DType type) {
  return is_halves(type) ? group_form(type).code_bits - 4 : 0;
}
static constexpr int group_vectors(DType type) {
  return is_halves(type) ? upper_vectors(type) + kQuads / 2 : kQuads;
}
// Bytes of one strip: heads at the beginning of a unit; integers of a pair of groups; factors of
// one group.
static constexpr int unit_head_bytes(DType type) { return group_form(type).heads * kStripLen * 2; }
static constexpr int pair_integer_bytes(DType type) { return 2 * group_vectors(type) * kStripQuad; }
static constexpr int group_scale_bytes(DType type) {
  return group_form(type).factor_bytes * kStripLen;
}
// Bytes of one unit of one strip.
static constexpr int unit_bytes(DType type) {
  return is_grouped(type) ? unit_head_bytes(type) + unit_pairs(type) * (pair_integer_bytes(type) +
                                                                        2 * group_scale_bytes(type))
         : type == DType::kI8 ? pair_integer_bytes(type)
                              : 2 * kStripLen * (type == DType::kF32 ? 4 : 2);
}
// Bytes behind the last unit of one strip.
static constexpr int strip_tail_bytes(DType type) { return type == DType::kI8 ? kStripLen * 4 : 0; }
static constexpr int64_t strip_bytes(DType type, int k) {
  return int64_t{unit_count(type, k)} * unit_bytes(type) + strip_tail_bytes(type);
}
static constexpr int slice_units(DType type) {
  return is_quantized(type) ? 512 / unit_len(type) : type == DType::kF32 ? 64 : 128;
}
// Bytes of one row of packed activations in its first n_units units, whole slices or all.
static constexpr int64_t packed_row_bytes(DType type, int n_units) {
  if (type == DType::kI8) {
    const int n_slices = (n_units + slice_units(type) - 1) / slice_units(type);
    return int64_t{n_units} * 2 * kGroupLen + int64_t{n_slices} * sizeof(QuantizedRow);
  }
  return int64_t{n_units} * (is_grouped(type)          ? unit_groups(type) * sizeof(QuantizedGroup)
                             : type == DType::kBF16Dot ? sizeof(uint32_t)
                                                       : 2 * sizeof(float));
}
// First row of block `block` when m rows are cut into n_blocks; also of tiles.
static constexpr int first_of(int block, int n_blocks, int m) {
  return static_cast<int>(int64_t{block} * m / n_blocks);
}
// The block that `row` is in.
static constexpr int block_of(int row, int n_blocks, int m) {
  return static_cast<int>((int64_t{row + 1} * n_blocks - 1) / m);
}

}  // namespace pando::kernel
