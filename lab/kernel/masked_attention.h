// Attention of rows that meet all cells of a stack under a dense mask: IPPD 4.1 (equations 6-10),
// Prepacking 3.2, and padded batches. For baselines; the engine's own attention has no mask.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "exec/cpu/kernel/attention.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

// Rows [row_begin, row_end) against n_cells neighbouring cells of keys and values.
struct MaskedStack {
  uint32_t row_begin;
  uint32_t row_end;
  uint32_t n_cells;     // all written; cell c is position c % page_len of page c / page_len
  uint32_t first_page;  // index into the list of pages
  uint32_t first_mask;  // index into the list of masks
  uint32_t first_cell;  // index into the list of cell positions

  uint32_t n_rows() const { return row_end - row_begin; }
  uint32_t n_keys() const { return n_cells; }
};

// In place of tasks.
struct MaskedArgs {
  std::span<const MaskedStack> stacks;  // in order of their rows, which they cover
  std::span<const PageId> pages;
  // Each stack has these, [n_rows][tiles of its cells]: bit j of tile i says that the row sees cell
  // i * tile_len + j.
  std::span<const uint64_t> masks;
  std::span<const uint32_t> cell_positions;  // [cells of all stacks], for the window
};

// softmax(q k + M) v with M 0 or -infinity, one fold over tiles of cells. Products that
// the mask takes out are computed too, but for tiles that no row of a work item sees (half of a
// causal mask, and what lies between the prompts of a bin), which changes no bit of finite values
// but the sign of a zero; a row that sees nothing comes out as 0. Of `rows`
// the tasks are not read and positions with a window only; keys and values are f32, f16 or bf16, in
// tiles of at most 64 positions.
void masked_attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& rows,
                      const MaskedArgs& masked, AttentionScratch& scratch);

}  // namespace pando::kernel
