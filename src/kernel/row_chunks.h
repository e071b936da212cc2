// How the operators of the published techniques cut their rows into work items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace pando::kernel {

// Rows [begin, end) of one task or stack.
template <class Rows>
struct RowChunk {
  const Rows* of;
  uint32_t begin, end;
};

// Rows of a chunk at most, where `group` query heads share a KV head: their state stays in a cache.
inline uint32_t rows_of_chunk(int group) {
  constexpr int kQueriesEach = 96;
  return static_cast<uint32_t>(std::max(1, kQueriesEach / group));
}

template <class Rows>
std::vector<RowChunk<Rows>> row_chunks(std::span<const Rows> all, uint32_t rows_each) {
  std::vector<RowChunk<Rows>> chunks;
  for (const Rows& rows : all)
    for (uint32_t row = rows.row_begin; row < rows.row_end; row += rows_each)
      chunks.push_back({&rows, row, std::min(row + rows_each, rows.row_end)});
  return chunks;
}

}  // namespace pando::kernel
