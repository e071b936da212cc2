#include "cache/page_pool.h"

#include "base/check.h"

namespace pando {

PagePool::PagePool(size_t n_pages) : n_refs_(n_pages, 0) {
  free_.reserve(n_refs_.size());  // so that release() needs no memory
}

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
