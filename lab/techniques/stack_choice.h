// The number of contexts in a stack, as in IPPD's table 4. The paper finds it by trial for each
// model and data set (B.3). Here it is the number with the least counted work.
#pragma once

#include <cstdint>
#include <span>

#include "lab/techniques/stack_batch.h"

namespace pando::lab {

// Limits of a batch.
struct BatchLimits {
  uint32_t n_stacks;  // 0: no limit but n_rows
  uint32_t n_rows;    // rows of headers, if n_stacks is 0
  uint64_t n_pages;
  uint32_t page_len;

  bool hold(const StackBatch& batch) const;
};

// Costs of a model's rows.
struct RowCosts {
  // The number of cells for which a row's attention costs as many multiply-adds as the rest.
  double cells = 0;
  uint32_t tile = 1;  // cells that are met together, or skipped if no row of a chunk sees them
  int group = 1;      // query heads of a KV head
  int n_kv_heads = 1;
  int n_threads = 1;

  // Rows of a chunk, which meet cells together, in a pass of n_rows rows; as kernel::row_chunks.
  uint64_t chunk(uint64_t n_rows) const;
};

uint32_t contexts_of_stack(std::span<const ContextSize> contexts, uint32_t instruction_len,
                           const BatchLimits& limits, const RowCosts& costs);

}  // namespace pando::lab
