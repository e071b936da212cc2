// Keys and values in pages of a device.
//
// kernel/kv_layout.h describes the layout of a page. One thing differs: int8 keys are signed, with
// no offset of 128.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contract/pages.h"
#include "exec/cpu/kernel/kv_layout.h"
#include "exec/gpu/head_ops.h"
#include "exec/gpu/host.h"
#include "exec/gpu/rows.h"

namespace pando::exec::gpu {

struct PagePool {
  PagePool(Host& host, std::vector<kernel::KvShape> groups_of_page, size_t n_pages);

  // Byte offset in a page of a layer's chunk for KV head 0. Chunks of later heads follow, each
  // chunk_bytes() long.
  uint64_t key_offset(int group, int layer) const;
  uint64_t value_offset(int group, int layer) const;

  Buffer memory;  // [n_pages, page_bytes]
  std::vector<kernel::KvShape> groups;
  size_t page_bytes = 0;  // of all groups
  List<uint32_t> copies;  // a step's copies: {from, to, n} each
};

// The slots where a step's rows go.
struct SlotLists {
  const Buffer& slot_begin;  // [n_rows + 1] u32
  const Buffer& slots;       // KvSlot: page and offset, u32 each
};

// Writes keys and values of rows to their slots, rounded to the type of the pages.
void write_rows(Host& host, const PagePool& pool, int group, int layer, const SlotLists& lists,
                const KeysAndValues& rows);

// Carries out copies in order, in all groups and layers.
void copy_pages(Host& host, PagePool& pool, std::span<const PageCopy> copies);

// Fills pages that are new in a step with NaN, as poison_pages in exec/cpu does.
void poison(Host& host, const PagePool& pool, std::span<const PageCopy> copies,
            std::span<const KvSlot> slots);

}  // namespace pando::exec::gpu
