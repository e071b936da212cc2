// Writing keys and values to pages.
#pragma once

#include <span>

#include "base/thread_pool.h"
#include "kernel/kernels.h"
#include "kernel/kv_layout.h"

namespace pando::kernel {

// Rounds row r's key and value to the page's type and stores them in the slots
// slots[slot_begin[r] .. slot_begin[r + 1]) for one layer; a row may have none or several.
// k, v: [n_rows, n_kv_heads, head_dim] f32, row r beginning at k + r * stride, v + r * stride.
// slot_begin: [n_rows + 1].
void write_kv(const Kernels& kernels, ThreadPool& pool, const KvView& kv, int layer, const float* k,
              const float* v, int64_t stride, std::span<const uint32_t> slot_begin,
              std::span<const KvSlot> slots);

// The same for one row. k, v: [n_kv_heads, head_dim] f32.
void write_kv_row(const Kernels& kernels, const KvView& kv, int layer, const float* k,
                  const float* v, std::span<const KvSlot> slots);

// Carries out copies in order (a later one may read what an earlier one wrote).
void copy_pages(const KvView& kv, std::span<const PageCopy> copies);

}  // namespace pando::kernel
