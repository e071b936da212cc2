// The pages of one tree node: bookkeeping of KvCache.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "contract/pages.h"

namespace pando {

struct Node;

// Order in which nodes lose their last page: pinned, last used, id.
using EvictionKey = std::tuple<bool, uint64_t, uint64_t, Node*>;
using EvictionOrder = std::set<EvictionKey>;

struct NodePages {
  // Pages of the page indices from start / page_len on, as far as tokens are issued.
  std::vector<PageId> ids;
  // The child that continues in the last page, in place, if the node ends inside it.
  Node* tail_child = nullptr;
  uint32_t n_children_with_pages = 0;
  // Place in the eviction order, while the pages may be taken away.
  bool evictable = false;
  uint32_t order = 0;  // index of the order, if there are several
  EvictionKey key = {};
  EvictionOrder::node_type entry = {};  // of the order, while the node has no place in it

  bool empty() const { return ids.empty(); }
  // Reserves memory: afterwards up to n pages, and any change of place, allocate nothing.
  void make_room(size_t n) {
    ids.reserve(n);
    if (n == 0 || evictable || !entry.empty()) return;
    EvictionOrder one = {EvictionKey{}};
    entry = one.extract(one.begin());
  }
};

}  // namespace pando
