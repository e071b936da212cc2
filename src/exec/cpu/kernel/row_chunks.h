// Division of the rows of attention into work items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/cpu/kernel/cpu/linear_layout.h"

namespace pando::kernel {

inline constexpr int kItemsPerThread = 4;      // enough for an even end
inline constexpr int kFewestQueriesEach = 24;  // below, reading pages again costs more than idling

// Rows [begin, end) of one task or stack, for the operators of published techniques.
template <class Rows>
struct RowChunk {
  const Rows* of;
  uint32_t begin, end;
};

// Most rows of a chunk if `group` query heads share a KV head: their state stays in a cache.
inline uint32_t most_chunk_rows(int group) {
  constexpr int kQueriesEach = 96;
  return static_cast<uint32_t>(std::max(1, kQueriesEach / group));
}

// Divides all rows into chunks; those of one task or stack are of nearly equal size. A chunk of one
// KV head has at most its share of all products of rows and keys (a thread's share divided by
// kItemsPerThread), unless it would have too few queries.
template <class Rows>
std::vector<RowChunk<Rows>> row_chunks(std::span<const Rows> all, int group, int n_kv_heads,
                                       int n_threads) {
  uint64_t n_products = 0;
  for (const Rows& rows : all) n_products += uint64_t{rows.n_rows()} * rows.n_keys();
  const uint64_t n_shares = n_threads == 1 ? 1 : kItemsPerThread * n_threads;
  const uint64_t most_products = n_products * n_kv_heads / n_shares;
  const uint64_t most_rows = most_chunk_rows(group);
  const uint64_t fewest_rows = std::max(1, kFewestQueriesEach / group);
  std::vector<RowChunk<Rows>> chunks;
  for (const Rows& rows : all) {
    const uint64_t rows_each =
        std::clamp(most_products / std::max(rows.n_keys(), 1u), fewest_rows, most_rows);
    const int n_rows = static_cast<int>(rows.n_rows());
    const int n_chunks = static_cast<int>((n_rows + rows_each - 1) / rows_each);
    for (int i = 0; i < n_chunks; ++i)
      chunks.push_back({&rows, rows.row_begin + first_of(i, n_chunks, n_rows),
                        rows.row_begin + first_of(i + 1, n_chunks, n_rows)});
  }
  return chunks;
}

}  // namespace pando::kernel
