// Attention cut along keys and values and put together again: Hydragen 3.1 to 3.3. For the planner
// of that name; the engine's own attention folds tiles into one state instead.
#pragma once

#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "exec/cpu/kernel/attention.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

// Rows [row_begin, row_end) against positions [pos_begin, pos_end) of their paths, which have the
// same tokens there: one vertex of the tree of sequences. A row sees positions up to its own. The
// result of row r is state first_state + r - row_begin.
struct LevelTask {
  uint32_t row_begin;
  uint32_t row_end;
  uint32_t pos_begin;
  uint32_t pos_end;
  uint32_t first_page;  // index into the list of pages: that of the tile with pos_begin
  uint32_t n_pages;     // to the last position that any row sees
  uint32_t first_state;

  uint32_t n_rows() const { return row_end - row_begin; }
  uint32_t n_keys() const { return pos_end - pos_begin; }
};

// In place of the tasks of AttentionArgs.
struct LevelArgs {
  std::span<const LevelTask> tasks;
  std::span<const PageId> pages;
  std::span<const uint32_t> states_begin;  // [n_rows + 1] row r merges states[states_begin[r] ..)
  std::span<const uint32_t> states;        // in order of their levels; each state once
};

// out1, lse1 become the attention over both parts; lse: base 2, -infinity for a part without
// positions, of which nothing else is read. Hydragen, equation 5 and appendix B; it returns the
// log-sum-exp as well, which more than two levels need. out: [head_dim].
void combine_lse(int head_dim, float* out1, float& lse1, const float* out2, float lse2);

// Every task for all its rows at once (3.2), then for each row the parts of its levels combined.
// The tasks of `rows` are not read.
void level_attention(const Kernels& kernels, ThreadPool& pool, const AttentionArgs& rows,
                     const LevelArgs& levels, AttentionScratch& scratch);

}  // namespace pando::kernel
