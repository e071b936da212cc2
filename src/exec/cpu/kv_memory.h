// The bytes behind pages of keys and values.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "contract/step_plan.h"
#include "exec/cpu/kernel/kv_layout.h"

namespace pando::exec {

// Bytes of a page with these groups.
size_t page_bytes(std::span<const kernel::KvShape> groups);

// Memory of the pages: address space from the start, memory when a page is first used. One thread.
class KvMemory {
 public:
  KvMemory(std::span<const kernel::KvShape> groups, size_t n_pages);
  // For pages with one group.
  KvMemory(const kernel::KvShape& group, size_t n_pages)
      : KvMemory(std::span(&group, 1), n_pages) {}

  std::span<const kernel::KvView> views() const { return views_; }  // of each group

  // Asks the system for memory behind 2 MiB more of the pages from n_touched on. In a virtual
  // machine the first touch of these takes up to 5 ms. Memory nodes get pages in turn, because any
  // thread may read any page. False if all pages have memory.
  bool prepare(size_t n_touched);
  // Bytes of the pages from n_touched on that have memory behind them.
  size_t ready_bytes(size_t n_touched) const;

 private:
  size_t page_bytes_;
  AlignedBuffer memory_;
  std::vector<kernel::KvView> views_;
  size_t ready_ = 0;  // bytes [0, ready_) were prepared
};

// Pages that are fresh in a step; some are listed twice. A page is fresh if a copy goes to it or
// its first position is written, unless a copy reads it.
std::vector<PageId> fresh_pages(std::span<const PageCopy> copies, std::span<const KvSlot> slots);
// Fills fresh pages with NaN.
void poison_pages(const kernel::KvView& view, std::span<const PageCopy> copies,
                  std::span<const KvSlot> slots);

// The pages of all layers, or of those without and of those with a window, by group.
struct KvViews {
  std::span<const kernel::KvView> pages;
  std::span<const kernel::KvView> windows = {};
};

}  // namespace pando::exec
