// The pages of a path.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cache/page_pool.h"
#include "cache/prefix_tree.h"

namespace pando {

// A page with the positions of a path from index * page_len on, up to the end of the page or of its
// node.
struct PathPage {
  uint32_t index;
  PageId page;
  uint32_t end;  // the page's node ends here, maybe in a later page
};

// Rows [from, to) of a path, which read positions from `first_read` on.
struct PathRows {
  const Node* tip;
  uint32_t first_read, from, to;
};

// Calls use(PathPage) for the existing pages that these rows read or write, from the last index
// down. If a node has copied the beginning of its first page from its parent, and some of the rows
// are the parent's, both pages are named: the deeper node's first.
template <class Use>
void for_each_page(const PathRows& rows, uint32_t page_len, const Use& use) {
  if (rows.first_read >= rows.to) return;
  uint32_t below_first = UINT32_MAX;  // index of the first page of the node below
  PageId below = kNoPage;             // that page
  for (const Node* node = rows.tip; !node->is_root(); node = node->parent) {
    if (node->pages.empty()) continue;
    const uint32_t first = node->start / page_len;
    const auto n_pages = static_cast<uint32_t>(node->pages.ids.size());
    const uint32_t begin = std::max(first, rows.first_read / page_len);
    for (uint32_t i = std::min(first + n_pages, (rows.to - 1) / page_len + 1); i-- > begin;) {
      const PageId page = node->pages.ids[i - first];
      if (i >= below_first && (node->end() <= rows.from || page == below)) continue;
      use(PathPage{i, page, node->end()});
    }
    below_first = first;
    below = node->pages.ids.front();
    if (node->start <= rows.first_read) return;
  }
}

}  // namespace pando
