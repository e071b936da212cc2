#include "cache/page_pool.h"

#include "base/check.h"

namespace pando {

PagePool::PagePool(size_t n_pages, uint32_t n_parts)
    : n_refs_(n_pages, 0), n_pages_each_(n_pages / n_parts), parts_(n_parts) {
  PANDO_CHECK(n_pages % n_parts == 0);
  for (Part& part : parts_) part.free.reserve(n_pages_each_);  // so that release() needs no memory
}

std::optional<PageId> PagePool::allocate(uint32_t part) {
  Part& from = parts_[part];
  PageId page;
  if (!from.free.empty()) {
    page = from.free.back();
    from.free.pop_back();
  } else if (from.n_touched < n_pages_each_) {
    page = static_cast<PageId>(part * n_pages_each_ + from.n_touched++);
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
  if (--n_refs_[page] == 0) parts_[part_of(page)].free.push_back(page);
}

size_t PagePool::n_free() const {
  size_t n = 0;
  for (uint32_t part = 0; part < n_parts(); ++part) n += n_free(part);
  return n;
}

size_t PagePool::n_touched() const {
  size_t n = 0;
  for (const Part& part : parts_) n += part.n_touched;
  return n;
}

}  // namespace pando
