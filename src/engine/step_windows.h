// Window pages of models with sliding windows: those that sequences read next, and those that a
// step writes again.
#pragma once

#include <cstdint>
#include <vector>

#include "cache/kv_cache.h"
#include "engine/sequence.h"

namespace pando {

// A running sequence holds the window pages that its next rows read, and in a step the pages that
// its rows write. Pages that leave the window are freed. Windows that others may continue from stay
// until their room is needed: windows that end where paths part or at a multiple of `every`, and
// the window of a sequence that has ended.
//
// A path can continue from any position whose window exists. Cached rows after it are computed
// again, and write to window pages only. One thread.
class StepWindows {
 public:
  // every: positions from one window that stays to the next; four windows at least.
  StepWindows(KvCache& cache, uint32_t every);

  // The last position up to `limit` from which the path can go on. All rows before `limit` are
  // cached.
  uint32_t first_row(const Node* tip, uint32_t limit) const;
  // Rows from `from` on that one sequence can have in a step.
  uint32_t most_rows(uint32_t from) const;

  // Holds the window in front of row `from`, which first_row gave. Throws std::bad_alloc.
  void hold_start(Sequence& sequence, uint32_t from);
  // Before KvCache::reserve: takes window pages for rows up to `to` that are computed again. False:
  // there is no room, and nothing was taken. Throws std::bad_alloc.
  bool reserve(Sequence& sequence, uint32_t to);
  // After KvCache::reserve: holds all pages that the rows up to `to` read or write, or undoes
  // `reserve`.
  void hold_reserved(Sequence& sequence);
  void take_back(Sequence& sequence);
  // The sequence gives up its window, which stays until its room is needed.
  void let_go(Sequence& sequence);

  // The step is in flight from now on: what it writes counts as written, and the pages that only
  // its rows read are given back.
  void submit();
  void abort();

 private:
  struct WindowShare {
    Sequence* sequence;
    uint32_t from, to;
  };
  void list_pages(const Sequence& sequence, uint32_t from, uint32_t to);
  void hold_listed();
  void swap_held(Sequence& sequence, uint32_t from);
  void set_written(const WindowShare& share);
  void slide(const WindowShare& share);
  bool stays(const Node* tip, uint32_t index, uint32_t to) const;

  WindowPages& windows_;
  uint32_t page_len_;
  uint32_t every_;
  std::vector<Sequence*> started_;   // since the last submit, by hold_start; they may repeat
  std::vector<WindowShare> shares_;  // of the current step
  std::vector<PathPage> listed_;     // by list_pages
};

}  // namespace pando
