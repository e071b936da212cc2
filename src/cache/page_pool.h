// Where keys and values live: a budget of memory cut into equal pages with reference counts.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernel/kv_layout.h"

namespace pando {

using kernel::PageId;

// Owned by one engine and touched by its thread only. Address space is taken at once, memory when a
// page is first used. Knows no model: a page is page_bytes bytes.
class PagePool {
 public:
  // floor(budget_bytes / page_bytes) pages. With `poison`, every page is filled with NaN (all bits
  // set) when handed out, so that a test sees any read of a stale lane.
  PagePool(size_t page_bytes, size_t budget_bytes, bool poison = false);

  // A page with one reference, its contents undefined; nothing when the budget is used up.
  std::optional<PageId> allocate();
  void add_ref(PageId page);
  // Drops one reference; the last one frees the page.
  void release(PageId page);

  // Where fewer than n_bytes of free pages have memory behind them: has the system put some behind
  // 2 MiB more, whose first touch takes up to 5 ms where the machine is a virtual one. False where
  // nothing was left to do.
  bool prepare(size_t n_bytes);
  size_t ready_bytes() const;  // of free pages that have memory behind them

  uint32_t n_refs(PageId page) const { return n_refs_[page]; }
  size_t n_pages() const { return n_refs_.size(); }
  size_t n_free() const { return n_pages() - n_touched_ + free_.size(); }
  size_t page_bytes() const { return page_bytes_; }
  std::byte* base() const { return memory_.data(); }

 private:
  size_t page_bytes_;
  bool poison_;
  AlignedBuffer memory_;
  std::vector<uint32_t> n_refs_;  // [n_pages]
  std::vector<PageId> free_;      // used before, free now; the last one freed is the next one used
  size_t n_touched_ = 0;          // pages [0, n_touched_) have been handed out at least once
  size_t ready_ = 0;              // bytes [0, ready_) have memory behind them
};

}  // namespace pando
