#include "cache/window_pages.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"

namespace pando {

WindowPages::WindowPages(const WindowSizes& sizes, size_t n_tree_pages)
    : sizes_(sizes), pool_(sizes.n_pages), entries_(sizes.window > 0 ? n_tree_pages : 0) {}

// Attention reads whole tiles.
uint32_t WindowPages::first_read(uint32_t position) const {
  const uint32_t seen = sizes_.window - fault_on(Fault::kWindowPageTooEarly);
  const uint32_t first = position + 1 - std::min(position + 1, seen);
  return first / sizes_.tile_len * sizes_.tile_len;
}

bool WindowPages::give(PageId page) {
  Entry& entry = entries_[page];
  PANDO_CHECK(entry.window_page == kNoPage && entry.n_holders == 0);
  std::optional<PageId> window_page = pool_.allocate();
  if (!window_page && first_ != kNoPage) {
    free(first_);
    ++n_evicted_;
    window_page = pool_.allocate();
  }
  if (!window_page) return false;
  entry.window_page = *window_page;
  entry.n_written = 0;
  return true;
}

void WindowPages::set_written(PageId page, uint32_t n) {
  Entry& entry = entries_[page];
  PANDO_CHECK(entry.window_page != kNoPage);
  if (n <= entry.n_written) return;
  entry.n_written = n;
  entry.step = n_submitted_;
}

void WindowPages::abort_all() {
  for (size_t page = 0; page < entries_.size(); ++page) {
    Entry& entry = entries_[page];
    if (entry.n_written == 0 || entry.step < n_committed_ || fault_on(Fault::kAbortLeavesWindow))
      continue;
    entry.n_written = 0;
    if (entry.kept) free(static_cast<PageId>(page));
  }
  n_committed_ = n_submitted_;
}

void WindowPages::cut(PageId page, uint32_t n) {
  if (fault_on(Fault::kWindowOfGoneBranch)) return;
  entries_[page].n_written = std::min(entries_[page].n_written, n);
}

void WindowPages::hold(PageId page) {
  Entry& entry = entries_[page];
  PANDO_CHECK(entry.window_page != kNoPage);
  if (entry.kept) unlink(page);
  ++entry.n_holders;
}

void WindowPages::release(PageId page, bool keep) {
  Entry& entry = entries_[page];
  PANDO_CHECK(entry.n_holders > 0);
  if (--entry.n_holders > 0) return;
  if (keep && entry.n_written > 0) {
    append(page);
  } else {
    free(page);
  }
}

void WindowPages::forget(PageId page) {
  if (!any() || entries_[page].window_page == kNoPage) return;
  PANDO_CHECK(entries_[page].n_holders == 0);
  free(page);
}

void WindowPages::append(PageId page) {
  Entry& entry = entries_[page];
  entry.kept = true;
  entry.before = last_;
  entry.behind = kNoPage;
  (last_ == kNoPage ? first_ : entries_[last_].behind) = page;
  last_ = page;
}

void WindowPages::unlink(PageId page) {
  Entry& entry = entries_[page];
  entry.kept = false;
  (entry.before == kNoPage ? first_ : entries_[entry.before].behind) = entry.behind;
  (entry.behind == kNoPage ? last_ : entries_[entry.behind].before) = entry.before;
}

void WindowPages::free(PageId page) {
  Entry& entry = entries_[page];
  if (entry.kept) unlink(page);
  pool_.release(entry.window_page);
  entry.window_page = kNoPage;
  entry.n_written = 0;
}

void WindowPages::check_invariants() const {
  size_t n_kept = 0, n_used = 0;
  for (const Entry& entry : entries_) {
    n_used += entry.window_page != kNoPage;
    n_kept += entry.kept;
    PANDO_CHECK(!entry.kept || (entry.window_page != kNoPage && entry.n_holders == 0));
    PANDO_CHECK(entry.window_page != kNoPage || (entry.n_holders == 0 && entry.n_written == 0));
  }
  PANDO_CHECK(n_used == pool_.n_used());
  PageId before = kNoPage;
  for (PageId page = first_; page != kNoPage; page = entries_[page].behind, --n_kept) {
    PANDO_CHECK(n_kept > 0 && entries_[page].kept && entries_[page].before == before);
    before = page;
  }
  PANDO_CHECK(n_kept == 0 && last_ == before);
}

}  // namespace pando
