// The pages of the tree's nodes: reserve and submit a step, commit or abort it, evict when full.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "cache/page_pool.h"
#include "cache/prefix_tree.h"
#include "cache/window_pages.h"

namespace pando {

// The next n_rows tokens of a node that are not issued yet.
struct Extent {
  Node* node;
  uint32_t n_rows;
};

// A page made in a step for a node that begins inside it: rows of the step above that node, at
// positions [pos_begin, pos_end), are written to it as well, at offset pos - pos_begin.
struct FanOut {
  Node* below;
  uint32_t pos_begin;
  uint32_t pos_end;
  PageId page;
};

// Owns the tree and the counts of the pool's pages. One thread.
//
// A node has pages for exactly its issued tokens. If it begins inside a page, its first page holds
// its ancestors' last tokens too: the first child continues in its parent's page, in place; every
// other child gets a page of its own, filled by copies of rows of earlier steps and by fan-out
// writes of rows of this step. A node keeps its pages as long as a child has pages.
//
// An executor carries out copies and rows in the order of submission. So a step may copy rows that
// steps in flight write, and may write to a page that was freed while steps in flight read it.
class KvCache {
 public:
  // n_slots: places for the states of recurrent layers; 0 for models without them.
  // pages_each: pages of a block (PathParts); 0: the pool has one part.
  KvCache(PagePool& pool, int page_len, size_t n_slots = 0, const WindowSizes& windows = {},
          uint32_t pages_each = 0);

  // Chooses the part in which the path begins.
  Node* acquire(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public = 0);
  Node* extend(Node* tip, Token token);
  void release(Node* tip);
  void lock(Node* tip);
  void unlock(Node* tip);
  // Frees the pages of the path's nodes that no other sequence needs, then releases the path.
  void release_and_drop(Node* tip);

  // Takes pages for the extents of one path, top first, evicting unlocked pages, and issues their
  // tokens. False if there is no room; throws std::bad_alloc if memory for its own lists runs out.
  // Nothing is issued or held then.
  bool reserve(std::span<const Extent> extents);
  // True if the path has pages in the part that had no room for the last refused reservation.
  bool has_pages_where_short(const Node* tip) const;
  // Frees duplicated page beginnings along a path, so that it takes no more pages than its length
  // needs. For use after a refused `reserve` has evicted everything else, when nothing is reserved
  // or in flight.
  void compact(Node* tip);
  // Evicts all pages that are not locked.
  void evict_all();

  // Moves the reserved rows, the step being put together, to the steps in flight.
  void submit();
  bool any_in_flight() const { return tree_.n_in_flight() > 0; }
  // Ends the step that was submitted first.
  void commit();
  // Takes back rows that are reserved and not submitted; abort_all: rows in flight, too.
  void abort();
  void abort_all();

  // Copies, fan-outs and issued tokens of the step being put together:
  const std::vector<PageCopy>& copies() const { return copies_; }
  const std::vector<PageCopy>& window_copies() const { return window_copies_; }
  const std::vector<FanOut>& fan_outs() const { return fan_outs_; }
  const std::vector<Issued>& issued() const { return tree_.issued(); }

  int page_len() const { return static_cast<int>(page_len_); }
  uint64_t n_evicted_pages() const { return n_evicted_pages_; }
  const PagePool& pool() const { return pool_; }
  const PrefixTree& tree() const { return tree_; }
  Places& places() { return places_; }
  const Places& places() const { return places_; }
  WindowPages& windows() { return windows_; }
  const WindowPages& windows() const { return windows_; }
  // True if cached rows may have to be computed again before a path can go on: recurrent layers
  // need their states, layers with a window their keys and values.
  bool may_recompute() const { return places_.any() || windows_.any(); }
  void check_invariants() const;

 private:
  void on_split(Node& upper, Node& lower);
  bool add_pages(const Extent& extent);
  bool add_first_page(Node* node);
  uint32_t part_for(const Node* node) const;
  uint32_t first_part(uint64_t isolation_key, std::span<const Token> tokens,
                      uint32_t n_public) const;
  bool has_page(const Node* node, uint32_t part) const;
  std::optional<PageId> take_page(uint32_t part);
  Node* next_victim(uint32_t part) const;
  bool evict_one_page(uint32_t part);
  void forget_step();
  void cut_pages(Node& node);
  void drop_last_page(Node* node);
  void release_page(const Node* node, PageId page);
  void forget_after(Node* node, uint32_t n_kept);
  void append_page(Node* node, PageId page);
  void refresh(Node* node);
  void refresh_path(Node* tip);
  uint32_t first_index(const Node* node) const { return node->start / page_len_; }
  uint32_t n_pages_for(const Node* node, uint32_t n_tokens) const;

  PagePool& pool_;
  uint32_t page_len_;
  Places places_;
  WindowPages windows_;
  PrefixTree tree_;
  std::vector<EvictionOrder> evictable_;  // by the part that a node's last page is in
  std::vector<PageCopy> copies_;
  std::vector<PageCopy> window_copies_;  // between window pages
  std::vector<FanOut> fan_outs_;
  uint64_t n_evicted_pages_ = 0;
  uint32_t short_part_ = 0;  // of the last refused reservation
};

}  // namespace pando
