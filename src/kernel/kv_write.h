// Writing keys and values to pages.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kernel/kernels.h"
#include "kernel/kv_layout.h"

namespace pando::kernel {

// Keys and values of new rows, f32: row r begins at k + r * stride, v + r * stride.
struct NewKeys {
  const float* k;  // [n_rows, n_kv_heads, head_dim]
  const float* v;
  int64_t stride;
};

// Rounds row r's key and value to the page's type and stores them in the slots
// slots[slot_begin[r] .. slot_begin[r + 1]) for one layer; a row may have none or several.
// slot_begin: [n_rows + 1].
void write_kv(const Kernels& kernels, ThreadPool& pool, const KvView& kv, int layer,
              const NewKeys& keys, std::span<const uint32_t> slot_begin,
              std::span<const KvSlot> slots);

// So many rows are best written together: neighbours fill the same cache lines of a key chunk.
inline constexpr uint32_t kKvRowsEach = 16;

// The same for rows [begin, end), on this thread.
void write_kv_rows(const Kernels& kernels, const KvView& kv, int layer, const NewKeys& keys,
                   std::span<const uint32_t> slot_begin, std::span<const KvSlot> slots,
                   uint32_t begin, uint32_t end);

// Carries out copies in order (a later one may read what an earlier one wrote).
void copy_pages(const KvView& kv, std::span<const PageCopy> copies);

}  // namespace pando::kernel
