// The pages of one tree node: bookkeeping of KvCache.
#pragma once

#include <cstdint>
#include <vector>

#include "kernel/kv_layout.h"

namespace pando {

struct Node;

struct NodePages {
  // Pages of the page indices from start / page_len on, as far as tokens are issued.
  std::vector<kernel::PageId> ids;
  // The child that goes on in the last page, in place, where the node ends inside one.
  Node* tail_child = nullptr;
  uint32_t n_children_with_pages = 0;
  // Place in the eviction order, while the pages may be taken away.
  bool evictable = false;
  bool key_pinned = false;
  uint64_t key_last_used = 0;

  bool empty() const { return ids.empty(); }
};

}  // namespace pando
