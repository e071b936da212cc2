#include "cache/page_pool.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace pando {
PagePool::PagePool(size_t page_bytes, size_t budget_bytes, bool poison)
    : page_bytes_(page_bytes),
      poison_(poison),
      memory_(budget_bytes / page_bytes * page_bytes),
      n_refs_(budget_bytes / page_bytes, 0) {
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
  if (poison_) std::memset(memory_.data() + page * page_bytes_, 0xff, page_bytes_);
  return page;
}

bool PagePool::prepare(size_t n_bytes) {
  constexpr size_t kPiece = size_t{2} << 20;
  const size_t begin = std::max(ready_, n_touched_ * page_bytes_);
  if (begin == memory_.size() || ready_bytes() >= n_bytes) return false;
  ready_ = std::min((begin / kPiece + 1) * kPiece, memory_.size());
  memory_.populate(begin, ready_);
  return true;
}

size_t PagePool::ready_bytes() const {
  const size_t used = n_touched_ * page_bytes_;
  return std::max(ready_, used) - used + free_.size() * page_bytes_;
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
