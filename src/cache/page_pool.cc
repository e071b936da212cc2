#include "cache/page_pool.h"

#include <cstring>

#include "base/check.h"

namespace pando {

PagePool::PagePool(size_t page_bytes, size_t budget_bytes, bool poison)
    : page_bytes_(page_bytes),
      poison_(poison),
      memory_(budget_bytes / page_bytes * page_bytes),
      n_refs_(budget_bytes / page_bytes, 0) {}

std::optional<PageId> PagePool::allocate() {
  PageId page;
  if (!free_.empty()) {
    page = free_.back();
    free_.pop_back();
  } else if (n_touched_ < n_pages()) {
    page = static_cast<PageId>(n_touched_++);
  } else {
    return std::nullopt;
  }
  n_refs_[page] = 1;
  if (poison_) std::memset(memory_.data() + page * page_bytes_, 0xff, page_bytes_);
  return page;
}

void PagePool::add_ref(PageId page) {
  PANDO_CHECK(n_refs_[page] > 0);
  ++n_refs_[page];
}

void PagePool::release(PageId page) {
  PANDO_CHECK(n_refs_[page] > 0);
  if (--n_refs_[page] == 0) free_.push_back(page);
}

}  // namespace pando
