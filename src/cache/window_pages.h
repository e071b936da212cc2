// Pages of the tree that hold keys and values of layers with a sliding window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cache/page_pool.h"

namespace pando {

struct WindowSizes {
  uint32_t window = 0;    // positions that a query sees, its own included; 0: pages are for all
                          // layers, and there are no window pages
  uint32_t tile_len = 1;  // positions that attention reads together
  size_t n_pages = 0;     // window pages that may be in use at a time
};

// Layers with a sliding window have pages of their own, from a pool of their own. A page of the
// tree has a window page as long as the next rows of a sequence read it. After that, a window page
// that is kept for later sequences stays until its room is needed. A page without one must be
// computed again before rows whose window reaches it. KvCache takes window pages for new pages of
// the tree.
//
// An executor carries out steps in the order of submission. So positions count as written once
// their step is submitted, and a window page that steps in flight read may be freed. If a step
// fails, the window pages that steps in flight write count as empty.
//
// Allocates nothing after construction. One thread.
class WindowPages {
 public:
  // n_tree_pages: pages of the tree's pool.
  WindowPages(const WindowSizes& sizes, size_t n_tree_pages);

  // False: the model has no window pages.
  bool any() const { return sizes_.window > 0; }
  uint32_t window() const { return sizes_.window; }
  // The first position that a row at this position, or any after it, reads.
  uint32_t first_read(uint32_t position) const;

  // Takes a window page for a page of the tree that has none. If none is free, takes the one that
  // `release` kept longest ago. False: all are held.
  bool give(PageId page);
  // The page of the tree has this many positions, from its first, in its window page, once the step
  // that is being put together is carried out.
  void set_written(PageId page, uint32_t n);
  uint32_t n_written(PageId page) const { return entries_[page].n_written; }
  // The current step is in flight from now on.
  void submit() { ++n_submitted_; }
  // The step that was submitted first is over.
  void commit() { ++n_committed_; }
  // No step in flight has written anything.
  void abort_all();
  // Forgets the positions of a branch that left the page, from number n on.
  void cut(PageId page, uint32_t n);
  // kNoPage: the page has none.
  PageId window_page(PageId page) const { return entries_[page].window_page; }

  // The window page stays until `release`. There must be one.
  void hold(PageId page);
  // If the page is no longer held, keeps its window page until the room is needed, or frees it.
  void release(PageId page, bool keep);
  bool is_held(PageId page) const { return entries_[page].n_holders > 0; }
  // The page went back to the tree's pool.
  void forget(PageId page);

  const PagePool& pool() const { return pool_; }
  uint64_t n_evicted() const { return n_evicted_; }
  // Throws BugError if a count or a link is wrong; for tests.
  void check_invariants() const;

 private:
  struct Entry {
    PageId window_page = kNoPage;
    uint32_t n_written = 0;
    uint64_t step = 0;  // number of the last step that writes it
    uint32_t n_holders = 0;
    bool kept = false;  // in the list of pages that are not held
    PageId before = kNoPage, behind = kNoPage;
  };
  void append(PageId page);
  void unlink(PageId page);
  void free(PageId page);

  WindowSizes sizes_;
  PagePool pool_;
  std::vector<Entry> entries_;               // [n_tree_pages]; empty if there are no windows
  PageId first_ = kNoPage, last_ = kNoPage;  // of the list; the first goes first
  uint64_t n_evicted_ = 0;
  uint64_t n_submitted_ = 0, n_committed_ = 0;  // steps
};

}  // namespace pando
