// Which pages of keys and values are free: reference counts within a budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernel/kv_layout.h"

namespace pando {

using kernel::PageId;

// Owned by one engine and touched by its thread only. Counts pages; the executor owns their bytes.
class PagePool {
 public:
  explicit PagePool(size_t n_pages);

  // A page with one reference, its contents undefined; nothing when all pages are taken. Pages that
  // were used before go first, and of these the page that was freed last.
  std::optional<PageId> allocate();
  void add_ref(PageId page);
  // Drops one reference; the last one frees the page.
  void release(PageId page);

  uint32_t n_refs(PageId page) const { return n_refs_[page]; }
  size_t n_pages() const { return n_refs_.size(); }
  size_t n_free() const { return n_pages() - n_touched_ + free_.size(); }
  size_t n_used() const { return n_pages() - n_free(); }
  // Pages [0, n_touched()) were handed out at least once.
  size_t n_touched() const { return n_touched_; }

 private:
  std::vector<uint32_t> n_refs_;  // [n_pages]
  std::vector<PageId> free_;      // used before, free now
  size_t n_touched_ = 0;
};

}  // namespace pando
