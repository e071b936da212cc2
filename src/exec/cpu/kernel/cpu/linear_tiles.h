// Matrix products with weights in integers by AMX: sixteen rows by sixteen outputs at a time. The
// same bits as linear_block.h, since sums of integers are exact and what is f32 is done in its
// order.
//
// Weights lie as in linear_layout.h. Activations of a tile of m rows lie in row blocks of at most
// 16, in pieces of 64 inputs for int8 and 32 for types in groups, outer to inner
//
//   [row block] [piece] [row] [inputs] s8, and behind all of these
//   groups     [row block] [piece] [row] f32 scales; the same of f32 sums
//   int8       [row] QuantizedRow, its bias of all inputs
//
// which is never more than linear_layout.h has.
#pragma once

#include "exec/cpu/kernel/cpu/amx_tiles.h"
#include "exec/cpu/kernel/cpu/linear_block.h"
#include "exec/cpu/kernel/cpu/linear_codes.h"

namespace pando::kernel {

// S: sixteen f32 lanes of AVX-512.
template <class S>
struct LinearTiles {
  // With fewer rows reading weights takes longer than products, and those in groups are unpacked
  // besides (an Intel Xeon with AMX, one thread, q8_0, 32 and 64 rows: 447 and 561 GOP/s, vpdpbusd
  // 436 and 479). All types in groups alike: they share packed rows.
  static bool takes(DType weights, int m) {
    return (is_grouped(weights) && m >= 32) || (weights == DType::kI8 && m >= 12);
  }

  static void run(const LinearBlockArgs& args) {
    switch (args.type) {
      case DType::kQ8_0:
        return run_grouped<DType::kQ8_0>(args);
      case DType::kQ4_0:
        return run_grouped<DType::kQ4_0>(args);
      case DType::kQ4_1:
        return run_grouped<DType::kQ4_1>(args);
      case DType::kQ5_0:
        return run_grouped<DType::kQ5_0>(args);
      case DType::kQ5_1:
        return run_grouped<DType::kQ5_1>(args);
      case DType::kQ4_K:
        return run_grouped<DType::kQ4_K>(args);
      case DType::kQ5_K:
        return run_grouped<DType::kQ5_K>(args);
      case DType::kQ6_K:
        return run_grouped<DType::kQ6_K>(args);
      case DType::kIQ4_NL:
        return run_grouped<DType::kIQ4_NL>(args);
      case DType::kIQ4_XS:
        return run_grouped<DType::kIQ4_XS>(args);
      case DType::kMXFP4:
        return run_grouped<DType::kMXFP4>(args);
      default:
        return run_int8(args);
    }
  }

  static void pack_row(const PackRowArgs& args) {
    const Place place(args.type, args.k, args.m, args.row);
    int8_t* integers = reinterpret_cast<int8_t*>(args.out) + place.integers();
    std::byte* rest = args.out + int64_t{args.m} * place.n_pieces * place.piece;
    if (args.type == DType::kI8) {
      const float amax = RowOps<S>::abs_max(args.x, args.k);
      QuantizedRow whole = {}, part;
      for (int i = 0; i < args.k; i += kSliceLen) {
        alignas(64) int8_t quads[kSliceLen];
        const int len = args.k - i < kSliceLen ? args.k - i : kSliceLen;
        Int8Block<S>::quantize_row(args.x + i, len, amax, part, quads, 4);
        whole = {part.scale, whole.bias + part.bias};
        for (int j = 0; j < len; j += place.piece, integers += place.n_rows * place.piece)
          __builtin_memcpy(integers, quads + j, place.piece);
      }
      __builtin_memcpy(rest + args.row * sizeof(whole), &whole, sizeof(whole));
      return;
    }
    float* scale = reinterpret_cast<float*>(rest) + place.pieces() + place.row;
    const int64_t to_sums = int64_t{args.m} * place.n_pieces;
    for (int i = 0; i < args.k; i += kSliceLen) {
      QuantizedGroup groups[kSliceLen / kGroupLen];
      const int len = args.k - i < kSliceLen ? args.k - i : kSliceLen;
      GroupedBlock<S, DType::kQ8_0>::quantize_row(args.x + i, len, groups, 1);
      const int n_groups = unit_count(DType::kQ8_0, len) * unit_groups(DType::kQ8_0);
      for (int g = 0; g < n_groups; ++g, scale += place.n_rows) {
        __builtin_memcpy(integers, groups[g].q, kGroupLen);
        integers += place.n_rows * kGroupLen;
        scale[0] = groups[g].scale;
        scale[to_sums] = groups[g].sum;
      }
    }
  }

 private:
  using F = typename S::F;
  using I = typename S::I;
  static constexpr int kMinBlockRows = 11;  // of 32 rows or more
  static constexpr int kSliceLen = 512;     // inputs
  static constexpr int kSliceGroups = kSliceLen / kGroupLen;
  static constexpr int kGroupBytes = kGroupLen * kStripLen;  // of a strip's weights

  static int block_count(int m) { return (m + kTileRegisterRows - 1) / kTileRegisterRows; }
  static int most_rows(int m) { return (m + block_count(m) - 1) / block_count(m); }

  // Position of a row block, or of one of its rows, in memory.
  struct Place {
    Place(DType type, int k, int m, int row_of_tile)
        : piece(type == DType::kI8 ? 2 * kGroupLen : kGroupLen),
          n_pieces(unit_count(type, k) * (unit_len(type) / piece)) {
      const int n_blocks = block_count(m), block = block_of(row_of_tile, n_blocks, m);
      first = first_of(block, n_blocks, m);
      n_rows = first_of(block + 1, n_blocks, m) - first;
      row = row_of_tile - first;
    }
    int64_t pieces() const { return int64_t{first} * n_pieces; }  // of the blocks before
    int64_t integers() const { return (pieces() + row) * piece; }

    int piece;  // bytes
    int n_pieces;
    int first;
    int n_rows;
    int row;  // of the block
  };

  // --- groups of 32 ---------------------------------------------------------------------------

  // A slice of a panel as tiles are loaded: integers as they are meant, factors in f32.
  struct Slice {
    alignas(64) int8_t q[kPanelStrips][kSliceGroups][kGroupBytes];
    alignas(64) float factors[kPanelStrips][kSliceGroups][kStripLen];
    alignas(64) float minima[kPanelStrips][kSliceGroups][kStripLen];  // as Scales::minimum
    alignas(64) float of_halves[kPanelStrips][kSliceGroups][2][kStripLen];
  };

  template <DType kType>
  static void unpack(const std::byte* from, int n_units, int n_strips, Slice& slice) {
    constexpr int kBytes = pair_integer_bytes(kType) / 2;  // of a strip's group
    constexpr GroupForm kForm = group_form(kType);
    typename GroupedBlock<S, kType>::Scales scales;
    int group = 0;
    for (int unit = 0; unit < n_units; ++unit) {
      scales.of_unit = from;
      from += n_strips * unit_head_bytes(kType);
      for (int pair = 0; pair < unit_pairs(kType); ++pair) {
        scales.of_group = from + n_strips * 2 * kBytes;
        for (int i = 0; i < 2; ++i, ++group) {
          for (int s = 0; s < n_strips; ++s) {
            unpack_integers<kType>(reinterpret_cast<const uint8_t*>(from) + s * kStripQuad,
                                   n_strips * kStripQuad, slice.q[s][group]);
            S::store(slice.factors[s][group], scales.scale(s));
            if constexpr (kForm.minima) S::store(slice.minima[s][group], scales.minimum(s));
            if constexpr (kForm.factor_len < kGroupLen)
              for (int half = 0; half < 2; ++half)
                S::store(slice.of_halves[s][group][half], scales.half_factor(s, half));
          }
          from += n_strips * kBytes;
          scales.of_group += n_strips * group_scale_bytes(kType);
        }
        from = scales.of_group;
      }
    }
  }

  // Vectors of one strip, `stride` bytes apart, to its quads.
  template <DType kType>
  static void unpack_integers(const uint8_t* vectors, int stride, int8_t* to) {
    if constexpr (is_halves(kType)) {
      GroupCodes<S, kType>::each_quad(vectors, stride, [&]<int kQuad>(typename S::Nibbles w) {
        S::store_weights(to + kQuad * kStripQuad, w, group_form(kType).offset);
      });
    } else {
      for (int i = 0; i < kGroupBytes; i += kStripQuad, vectors += stride)
        S::store_weights(to + i, S::load_weights(vectors), 128);
    }
  }

  // Part of a slice that belongs to a row block.
  struct GroupedRows {
    const int8_t* q;      // [n_groups][rows][32]
    const float* scales;  // [n_groups][rows]
    const float* sums;    // the same
    int n_groups;
  };

  template <DType kType>
  static void run_grouped(const LinearBlockArgs& args) {
    const int64_t n_pieces = Place(kType, args.k, args.m, 0).n_pieces;
    const int8_t* q = reinterpret_cast<const int8_t*>(args.x);
    const float* scales = reinterpret_cast<const float*>(q + args.m * n_pieces * kGroupLen);
    alignas(64) float sums[kTileRows * kPanelLen];
    Slice slice;
    const TileShapes shapes(most_rows(args.m), group_form(kType).factor_len);
    const auto on_slice = [&](const BlockArgs& block, int) {
      unpack<kType>(block.w, block.n_units, block.n_strips, slice);
    };
    const auto on_rows = [&](BlockArgs& block, int unit, int, int row, int n_rows) {
      const int64_t first = row * n_pieces + unit * unit_groups(kType) * n_rows;
      const int most = block.n_units * unit_groups(kType);
      const GroupedRows rows = {.q = q + first * kGroupLen,
                                .scales = scales + first,
                                .sums = scales + args.m * n_pieces + first,
                                .n_groups = block.n_groups < most ? block.n_groups : most};
      block.sums = sums + row * kPanelLen;
      for (int s = 0; s < block.n_strips; ++s)
        dispatch<kType, kTileRegisterRows>(n_rows, block, s, slice, rows);
    };
    walk<kType>(args, block_count(args.m), true, on_slice, on_rows);
  }

  template <DType kType, int kRows>
  static void dispatch(int n_rows, const BlockArgs& block, int strip, const Slice& slice,
                       const GroupedRows& rows) {
    if constexpr (kRows > kMinBlockRows)
      if (n_rows < kRows) return dispatch<kType, kRows - 1>(n_rows, block, strip, slice, rows);
    add_groups<kType, kRows>(block, strip, slice, rows);
  }

  // Sums of products, [rows][16], that share factors of weights: those of a group, or of each half
  // group.
  template <DType kType>
  struct GroupDots {
    static constexpr int kParts = kGroupLen / group_form(kType).factor_len;
    alignas(64) int32_t parts[kParts][kTileRegisterRows][kStripLen];
  };

  // One strip: acc = fma(float(sum of 32 products), s * d, acc) for every row, and with minima
  // acc = fma(sum of activations, minimum, acc); GroupedBlock::add_group. Bound by the 16 x 16 sums
  // of each group: 16 cycles to multiply, 14 to store, 28 to convert (Intel with AMX, one thread:
  // such a loop from the first-level cache 849 GOP/s; products of int8, converted once, 2,570).
  template <DType kType, int kRows>
  static void add_groups(const BlockArgs& block, int strip, const Slice& slice,
                         const GroupedRows& rows) {
    fetch_outputs<kRows, 1>(block, strip);
    Accumulators<S, kRows, 1> sums;
    sums.load(block, strip);
    // Sums of a group are stored while those of the one before are read.
    GroupDots<kType> dots[2];
    Prefetch prefetch(block, strip, 1, rows.n_groups);
    multiply_group<kType>(slice.q[strip][0], rows.q, dots[0]);
    for (int group = 0; group < rows.n_groups; ++group) {
      prefetch.step();
      if (group + 1 < rows.n_groups)
        multiply_group<kType>(slice.q[strip][group + 1], rows.q + (group + 1) * kRows * kGroupLen,
                              dots[(group + 1) % 2]);
      const F factors = S::load(slice.factors[strip][group]);
      const GroupDots<kType>& own = dots[group % 2];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const F scale = S::set1(rows.scales[group * kRows + r]);
        sums.acc[r][0] = S::fma(total<kType>(own, r, slice.of_halves[strip][group]),
                                S::mul(scale, factors), sums.acc[r][0]);
      }
      if constexpr (group_form(kType).minima) {
        const F minima = S::load(slice.minima[strip][group]);
#pragma GCC unroll 16
        for (int r = 0; r < kRows; ++r)
          sums.acc[r][0] = S::fma(S::set1(rows.sums[group * kRows + r]), minima, sums.acc[r][0]);
      }
    }
    sums.store(block, strip);
  }

  template <DType kType>
  static F total(const GroupDots<kType>& dots, int row, const float (&of_halves)[2][kStripLen]) {
    const F first = S::to_float(S::load_dots(dots.parts[0][row]));
    if constexpr (GroupDots<kType>::kParts == 1)
      return first;
    else
      return S::fma(S::to_float(S::load_dots(dots.parts[1][row])), S::load(of_halves[1]),
                    S::mul(first, S::load(of_halves[0])));
  }

  template <DType kType>
  [[gnu::always_inline]] static void multiply_group(const int8_t* w, const int8_t* q,
                                                    GroupDots<kType>& dots) {
    constexpr int kLen = group_form(kType).factor_len;
    for (auto& part : dots.parts) {
      tile_zero<0>();
      tile_load<4>(q, kGroupLen);
      tile_load<5>(w, kStripQuad);
      tile_dot_signed<0, 4, 5>();
      tile_store<0>(part, sizeof(part[0]));
      q += kLen, w += kLen * kStripLen;
    }
  }

  // --- int8 -----------------------------------------------------------------------------------

  static void run_int8(const LinearBlockArgs& args) {
    constexpr DType kType = DType::kI8;
    constexpr int kPiece = 2 * kGroupLen;
    const int n_units = unit_count(kType, args.k);
    const auto* rows =
        reinterpret_cast<const QuantizedRow*>(args.x + int64_t{args.m} * n_units * kPiece);
    // Registers of the taller row blocks store a row too many of the others.
    alignas(64) int32_t sums[kTileRows / kTileRegisterRows][kTileRegisterRows * kPanelLen];
    const TileShapes shapes(most_rows(args.m), kPiece);
    const auto on_slice = [](const BlockArgs&, int) {};
    const auto on_rows = [&](BlockArgs& block, int unit, int i, int row, int n_rows) {
      block.x = args.x + (int64_t{row} * n_units + int64_t{unit} * n_rows) * kPiece;
      if (block.n_strips == kPanelStrips)
        add_units<kPanelStrips>(block, 0, n_rows, sums[i]);
      else
        for (int s = 0; s < block.n_strips; ++s) add_units<1>(block, s, n_rows, sums[i]);
      if (block.last_slice) finish_rows(block, n_rows, sums[i], rows + row);
    };
    walk<kType>(args, block_count(args.m), true, on_slice, on_rows);
  }

  // Strips [strip, strip + kStrips) of a slice. sums: [rows][48]
  template <int kStrips>
  static void add_units(const BlockArgs& block, int strip, int n_rows, int32_t* sums) {
    constexpr int64_t kStride = kPanelLen * sizeof(int32_t);
    constexpr int kQuadsOfUnit = 2 * kQuads;
    sums += strip * kStripLen;
    if (block.first_slice) {
      tile_zero<0>();
      if constexpr (kStrips == 3) tile_zero<1>(), tile_zero<2>();
    } else {
      tile_load<0>(sums, kStride);
      if constexpr (kStrips == 3)
        tile_load<1>(sums + kStripLen, kStride), tile_load<2>(sums + 2 * kStripLen, kStride);
    }
    const int stride = block.n_strips * kStripQuad;
    const std::byte* x = block.x;
    const std::byte* w = block.w + strip * kStripQuad;
    Prefetch prefetch(block, strip, kStrips, block.n_units);
    for (int unit = 0; unit < block.n_units; ++unit) {
      prefetch.step();
      tile_load<4>(x, 2 * kGroupLen);
      tile_load<5>(w, stride);
      tile_dot_unsigned<0, 4, 5>();
      if constexpr (kStrips == 3) {
        tile_load<6>(w + kStripQuad, stride);
        tile_dot_unsigned<1, 4, 6>();
        tile_load<7>(w + 2 * kStripQuad, stride);
        tile_dot_unsigned<2, 4, 7>();
      }
      x += n_rows * 2 * kGroupLen;
      w += kQuadsOfUnit * stride;
    }
    tile_store<0>(sums, kStride);
    if constexpr (kStrips == 3)
      tile_store<1>(sums + kStripLen, kStride), tile_store<2>(sums + 2 * kStripLen, kStride);
  }

  static void finish_rows(const BlockArgs& block, int n_rows, const int32_t* sums,
                          const QuantizedRow* rows) {
    for (int r = 0; r < n_rows; ++r, sums += kPanelLen)
      for (int column = 0; column < block.n_columns; column += kStripLen) {
        const F factor = S::mul(S::set1(rows[r].scale), S::load(block.scales + column));
        const I dots = S::add_bias(S::load_dots(sums + column), rows[r].bias);
        S::store_first(block.y + r * block.y_stride + column,
                       S::fma(S::to_float(dots), factor, S::zero()), block.n_columns - column);
      }
  }
};

}  // namespace pando::kernel
