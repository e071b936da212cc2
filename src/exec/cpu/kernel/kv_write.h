// Writing keys and values to pages.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "exec/cpu/kernel/kernels.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::kernel {

// Keys and values of new rows, f32: row r begins at k + r * stride, v + r * stride.
struct NewKeys {
  const float* k;  // [n_rows, n_kv_heads, head_dim]
  const float* v;
  int64_t stride;
};

// Keys and values to write for one layer, and their slots. A row may have no slot or several.
struct KvWrite {
  const KvView& kv;                      // the pages
  int layer;                             // of the pages
  const NewKeys& keys;                   // of all rows
  std::span<const uint32_t> slot_begin;  // [n_rows + 1]: slots of row r begin at slot_begin[r]
  std::span<const KvSlot> slots;         // of all rows
};

// Rounds each row's key and value to the page's type and stores them in the row's slots.
void write_kv(const Kernels& kernels, ThreadPool& pool, const KvWrite& write);

// Rows to write together: neighbours fill the same cache lines of a key chunk.
inline constexpr uint32_t kKvRowsEach = 16;

// Does the same for rows [begin, end), on this thread.
void write_kv_rows(const Kernels& kernels, const KvWrite& write, uint32_t begin, uint32_t end);

// Carries out copies of one group in order (a later one may read what an earlier one wrote).
void copy_pages(const KvView& kv, std::span<const PageCopy> copies);

}  // namespace pando::kernel
