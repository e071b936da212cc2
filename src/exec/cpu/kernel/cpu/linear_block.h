// Matrix product kernels: the walk over panels, slices and row blocks, and its body over a
// sixteen-lane type S. Reference: docs/arithmetic.md, "Matrix products". An output's accumulator
// lives in registers within a slice and in memory between slices; no order of these loops changes
// its chain over k.
#pragma once

#include "exec/cpu/kernel/cpu/linear_block_float.h"
#include "exec/cpu/kernel/cpu/linear_block_grouped.h"
#include "exec/cpu/kernel/cpu/linear_block_int8.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/cpu/row_ops.h"

namespace pando::kernel {

// Some panels of a weight matrix times one tile of activations.
struct LinearBlockArgs {
  DType type;                // of the weights
  const std::byte* weights;  // the first panel; linear_layout.h
  const std::byte* x;        // the packed tile; linear_layout.h
  int m;                     // rows of the tile
  int n;                     // outputs of these panels; only the last panel may have fewer than 48
  int k;
  bool goes_on;  // the panels behind these probably come next
  bool fetch;    // weights, however few the rows are
  float* y;      // [m, n] f32, rows y_stride apart
  int64_t y_stride;
};

// One row of one tile.
struct PackRowArgs {
  DType type;      // of the weights
  const float* x;  // [k] f32
  int k;
  int m;           // rows of the tile
  int row;         // of these
  std::byte* out;  // the packed tile; linear_layout.h
};

// Walks once over a matrix of kType in memory order; each slice is used with all n_blocks row
// blocks. Calls on_slice(block, unit) at the first unit of a slice; it may replace the weights in
// block.w. Then calls, for each row block,
//
//   on_rows(block, unit, index, row, n_rows)
//
// which still has to set x and sums, if they are used.
//
// With may_fetch, the next slice is fetched while one is used, a share with each row block. With
// few rows that read a panel in one pass, the hardware prefetchers of some processors do better
// (Zen 4, AVX2, one thread, one row of q8_0: 25 against 13 GB/s; fetches_few_rows).
template <DType kType, class OnSlice, class OnRows>
[[gnu::always_inline]] static inline void walk(const LinearBlockArgs& args, int n_blocks,
                                               bool may_fetch, const OnSlice& on_slice,
                                               const OnRows& on_rows) {
  const int n_units = unit_count(kType, args.k);
  BlockArgs block = {};
  block.y_stride = args.y_stride;
  const std::byte* w = args.weights;
  for (int column = 0; column < args.n; column += kPanelLen) {
    const bool last_panel = column + kPanelLen >= args.n;
    block.n_columns = last_panel ? args.n - column : kPanelLen;
    block.n_strips = (block.n_columns + kStripLen - 1) / kStripLen;
    const std::byte* panel_end = w + block.n_strips * strip_bytes(kType, args.k);
    block.scales =
        reinterpret_cast<const float*>(panel_end - block.n_strips * strip_tail_bytes(kType));
    for (int unit = 0; unit < n_units; unit += block.n_units) {
      block.first_slice = unit == 0;
      block.last_slice = n_units - unit <= slice_units(kType);
      block.n_units = block.last_slice ? n_units - unit : slice_units(kType);
      block.n_groups = (args.k + kGroupLen - 1) / kGroupLen - unit_groups(kType) * unit;
      block.w = w;
      const int w_bytes = block.n_units * block.n_strips * unit_bytes(kType);
      w += w_bytes;
      on_slice(block, unit);
      const bool fetch = may_fetch && (args.goes_on || !last_panel || !block.last_slice);
      const int n_lines = fetch ? w_bytes / Prefetch::kLine : 0;
      for (int i = 0; i < n_blocks; ++i) {
        const int row = first_of(i, n_blocks, args.m);
        block.y = args.y + row * args.y_stride + column;
        block.next = w + first_of(i, n_blocks, n_lines) * Prefetch::kLine;
        block.next_end = w + first_of(i + 1, n_blocks, n_lines) * Prefetch::kLine;
        on_rows(block, unit, i, row, first_of(i + 1, n_blocks, args.m) - row);
      }
    }
    w = panel_end;
  }
}

template <class S>
struct LinearBlock {
  static void run(const LinearBlockArgs& args) {
    switch (args.type) {
      case DType::kF32:
        return run_type<FloatBlock<S, DType::kF32>>(args);
      case DType::kF16:
        return run_type<FloatBlock<S, DType::kF16>>(args);
      case DType::kBF16:
        return run_type<FloatBlock<S, DType::kBF16>>(args);
      case DType::kBF16Dot:
        return run_type<FloatBlock<S, DType::kBF16Dot>>(args);
      case DType::kQ8_0:
        return run_type<GroupedBlock<S, DType::kQ8_0>>(args);
      case DType::kQ4_0:
        return run_type<GroupedBlock<S, DType::kQ4_0>>(args);
      case DType::kQ4_1:
        return run_type<GroupedBlock<S, DType::kQ4_1>>(args);
      case DType::kQ5_0:
        return run_type<GroupedBlock<S, DType::kQ5_0>>(args);
      case DType::kQ5_1:
        return run_type<GroupedBlock<S, DType::kQ5_1>>(args);
      case DType::kQ4_K:
        return run_type<GroupedBlock<S, DType::kQ4_K>>(args);
      case DType::kQ5_K:
        return run_type<GroupedBlock<S, DType::kQ5_K>>(args);
      case DType::kQ6_K:
        return run_type<GroupedBlock<S, DType::kQ6_K>>(args);
      case DType::kIQ4_NL:
        return run_type<GroupedBlock<S, DType::kIQ4_NL>>(args);
      case DType::kIQ4_XS:
        return run_type<GroupedBlock<S, DType::kIQ4_XS>>(args);
      case DType::kMXFP4:
        return run_type<GroupedBlock<S, DType::kMXFP4>>(args);
      case DType::kI8:
        return run_type<Int8Block<S>>(args);
      default:
        return;  // no PackedMatrix has these
    }
  }

  static void pack_row(const PackRowArgs& args) {
    const int n_blocks = (args.m + max_rows(args.type) - 1) / max_rows(args.type);
    const int block = block_of(args.row, n_blocks, args.m);
    const int first = first_of(block, n_blocks, args.m);
    const int n_rows = first_of(block + 1, n_blocks, args.m) - first, row = args.row - first;
    const int n_units = unit_count(args.type, args.k);
    const float amax = args.type == DType::kI8 ? RowOps<S>::abs_max(args.x, args.k) : 0.0f;
    for (int unit = 0; unit < n_units; unit += slice_units(args.type)) {
      const int i = unit * unit_len(args.type);
      const int rest = args.k - i, most = slice_units(args.type) * unit_len(args.type);
      const float* x = args.x + i;
      const int len = rest < most ? rest : most;
      std::byte* out = args.out + packed_row_bytes(args.type, unit) * args.m +
                       packed_row_bytes(args.type, unit_count(args.type, len)) * first;
      if (is_grouped(args.type)) {
        GroupedBlock<S, DType::kQ8_0>::quantize_row(
            x, len, reinterpret_cast<QuantizedGroup*>(out) + row, n_rows);
      } else if (args.type == DType::kI8) {
        QuantizedRow* rows = reinterpret_cast<QuantizedRow*>(out);
        Int8Block<S>::quantize_row(x, len, amax, rows[row],
                                   reinterpret_cast<int8_t*>(rows + n_rows) + 4 * row, 4 * n_rows);
      } else if (args.type == DType::kBF16Dot) {
        FloatBlock<S, DType::kBF16Dot>::narrow_row(x, len, reinterpret_cast<uint32_t*>(out) + row,
                                                   n_rows);
      } else {
        float* to = reinterpret_cast<float*>(out) + row;
        for (int j = 0; j < len; ++j) to[int64_t{j} * n_rows] = x[j];
      }
    }
  }

  // All of args, whose type is Block's.
  template <class Block>
  static void run_type(const LinearBlockArgs& args) {
    constexpr DType kType = Block::kType;
    const int n_blocks = (args.m + Block::kMaxRows - 1) / Block::kMaxRows;
    alignas(64) float sums[kTileRows * kPanelLen];  // in order: y's rows may share cache sets
    constexpr int kMinWiden = min_widen_blocks<Block>();
    constexpr bool kMayWiden = kMinWiden > 0;
    alignas(64) std::byte wide[wide_slice_bytes<Block>()];
    const bool widen = kMayWiden && n_blocks >= kMinWiden;
    const std::byte* x = nullptr;  // of the slice
    int64_t x_bytes = 0;           // of a row of it
    const auto on_slice = [&](BlockArgs& block, int unit) {
      x = args.x + packed_row_bytes(kType, unit) * args.m;
      x_bytes = packed_row_bytes(kType, block.n_units);
      if constexpr (kMayWiden) {
        if (!widen) return;
        Block::widen_slice(block.w, block.n_units, block.n_strips, wide);
        block.w = wide;
      }
    };
    const auto on_rows = [&](BlockArgs& block, int, int, int row, int n_rows) {
      block.x = x + row * x_bytes;
      block.sums = sums + row * kPanelLen;
      if constexpr (kMayWiden) {
        if (widen) return dispatch<GroupedBlock<S, kType, true>, Block::kMaxRows>(n_rows, block);
      }
      dispatch<Block, Block::kMaxRows>(n_rows, block);
    };
    const bool may_fetch = args.fetch || args.m >= Block::kMinFetchRows;
    walk<kType>(args, n_blocks, may_fetch, on_slice, on_rows);
  }

 private:
  static constexpr int max_rows(DType weights) {
    return is_grouped(weights)      ? GroupedBlock<S, DType::kQ8_0>::kMaxRows
           : weights == DType::kI8  ? Int8Block<S>::kMaxRows
           : weights == DType::kF32 ? FloatBlock<S, DType::kF32>::kMaxRows
                                    : FloatBlock<S, DType::kBF16>::kMaxRows;
  }

  template <class Block, int kRows>
  static void dispatch(int n_rows, const BlockArgs& args) {
    if constexpr (kRows > 1)
      if (n_rows < kRows) return dispatch<Block, kRows - 1>(n_rows, args);
    if constexpr (kRows <= Block::kMaxWideRows)
      if (args.n_strips == kPanelStrips) return Block::template run<kRows, kPanelStrips>(args, 0);
    for (int strip = 0; strip < args.n_strips; ++strip) Block::template run<kRows, 1>(args, strip);
  }

  // Sizes of blocks that may widen slices; 0 for other blocks.
  template <class Block>
  static constexpr int min_widen_blocks() {
    if constexpr (is_grouped(Block::kType))
      return Block::kMinWidenBlocks;
    else
      return 0;
  }
  template <class Block>
  static constexpr int wide_slice_bytes() {
    if constexpr (min_widen_blocks<Block>() > 0)
      return Block::kWideSliceBytes;
    else
      return 1;
  }
};

}  // namespace pando::kernel
