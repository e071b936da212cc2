#include "cache/kv_cache.h"

#include <algorithm>

#include "base/check.h"
#include "base/fault.h"

namespace pando {
namespace {

// The cost of a token that is computed again because its path begins in another part, in tokens by
// which one part is fuller than another.
constexpr size_t kComputed = 4;

// Reasons against beginning a path in a part, the strongest first.
struct StartCost {
  uint32_t n_behind;  // tokens behind blocks that are there already
  bool waits;         // the part has no room for it beside all open paths
  size_t n_tokens;    // computed, there already, and evicted
  auto operator<=>(const StartCost&) const = default;
};

// Tokens of a path up to and including `node` that were submitted, as a position. The step that is
// being put together finds their keys and values in pages.
uint32_t submitted_end(const Node* node) {
  const auto n_submitted =
      fault_on(Fault::kFlightFannedOut) ? &Node::n_committed : &Node::n_submitted;
  while (!node->is_root() && node->*n_submitted == 0) node = node->parent;
  return node->start + node->*n_submitted;
}

}  // namespace

KvCache::KvCache(PagePool& pool, int page_len, size_t n_slots, const WindowSizes& windows,
                 uint32_t pages_each)
    : pool_(pool),
      page_len_(static_cast<uint32_t>(page_len)),
      places_(n_slots),
      windows_(windows, pool.n_pages()),
      tree_([this](Node& upper, Node& lower) { on_split(upper, lower); },
            pages_each == 0 ? PathParts{} : PathParts{pool.n_parts(), pages_each * page_len_}),
      evictable_(pool.n_parts()) {
  PANDO_CHECK(pool.n_parts() == 1 || (pages_each > 0 && !windows_.any()));
}

Node* KvCache::acquire(uint64_t isolation_key, std::span<const Token> tokens, uint32_t n_public) {
  Node* tip =
      tree_.acquire(isolation_key, tokens, n_public, first_part(isolation_key, tokens, n_public));
  refresh_path(tip);
  return tip;
}

Node* KvCache::extend(Node* tip, Token token) {
  Node* next = tree_.extend(tip, token);
  refresh(next);  // may have been there already, and is locked now
  return next;
}

void KvCache::release(Node* tip) {
  // The tip may be forgotten: the rest of the path is reached from the nodes that stay.
  Node* last_with_pages = tip;
  while (last_with_pages->pages.empty() && !last_with_pages->is_root())
    last_with_pages = last_with_pages->parent;
  const bool stays = !last_with_pages->is_root();  // a root may be forgotten too
  tree_.release(tip);
  if (stays) refresh_path(last_with_pages);
}

void KvCache::lock(Node* tip) {
  tree_.lock(tip);
  refresh_path(tip);
}

void KvCache::unlock(Node* tip) {
  tree_.unlock(tip);
  refresh_path(tip);
}

void KvCache::release_and_drop(Node* tip) {
  for (Node* node = tip; !node->is_root(); node = node->parent) {
    const bool in_flight = node->n_issued > node->n_committed;
    if (node->n_pins > 1 || node->n_locks > 0 || node->pages.n_children_with_pages > 0 || in_flight)
      break;
    while (!node->pages.empty()) drop_last_page(node);
    refresh(node);
    forget_after(node, 0);
  }
  release(tip);
}

// --- reserve -------------------------------------------------------------------------------------

uint32_t KvCache::n_pages_for(const Node* node, uint32_t n_tokens) const {
  return n_tokens == 0 ? 0 : (node->start + n_tokens - 1) / page_len_ - first_index(node) + 1;
}

bool KvCache::reserve(std::span<const Extent> extents) {
  const size_t n_copies = copies_.size(), n_fan_outs = fan_outs_.size();
  const size_t n_window_copies = window_copies_.size();
  const auto undo = [&] {
    for (size_t i = extents.size(); i-- > 0;) {
      Node* node = extents[i].node;
      while (node->pages.ids.size() > n_pages_for(node, node->n_issued)) drop_last_page(node);
    }
    copies_.resize(n_copies);
    window_copies_.resize(n_window_copies);
    fan_outs_.erase(fan_outs_.begin() + n_fan_outs, fan_outs_.end());
  };
  try {
    tree_.make_room(extents.size());
    for (const Extent& extent : extents) {
      if (add_pages(extent)) continue;
      undo();
      return false;
    }
  } catch (...) {  // no memory for the bookkeeping itself
    undo();
    throw;
  }
  for (const Extent& extent : extents) tree_.issue(extent.node, extent.n_rows);
  return true;
}

bool KvCache::add_pages(const Extent& extent) {
  Node* node = extent.node;
  const uint32_t n_needed = n_pages_for(node, node->n_issued + extent.n_rows);
  if (node->pages.empty() && node->start % page_len_ != 0 && !add_first_page(node)) return false;
  while (node->pages.ids.size() < n_needed) {
    const std::optional<PageId> page = take_page(part_for(node));
    if (!page) return false;
    append_page(node, *page);
  }
  return true;
}

// The first page of a node that begins inside one.
bool KvCache::add_first_page(Node* node) {
  NodePages& above = node->parent->pages;
  PANDO_CHECK(!above.empty());
  if (above.tail_child == nullptr) {
    pool_.add_ref(above.ids.back());
    append_page(node, above.ids.back());
    above.tail_child = node;
    return true;
  }
  const std::optional<PageId> page = take_page(part_for(node));
  if (!page) return false;
  append_page(node, *page);
  const uint32_t page_start = first_index(node) * page_len_;
  const uint32_t submitted = submitted_end(node->parent);
  const uint32_t n_copied = std::min(submitted, node->start) - std::min(submitted, page_start);
  if (n_copied > 0) copies_.push_back({above.ids.back(), *page, n_copied});
  if (windows_.any() && !fault_on(Fault::kWindowCopyMissing)) {
    const uint32_t n = std::min(n_copied, windows_.n_written(above.ids.back()));
    if (n > 0)
      window_copies_.push_back(
          {windows_.window_page(above.ids.back()), windows_.window_page(*page), n});
    windows_.set_written(*page, n);
  }
  if (submitted < node->start && !fault_on(Fault::kFanOutMissing))
    fan_outs_.push_back({node, page_start, node->start, *page});
  return true;
}

// Takes over a reference to the page; releases it if memory runs out.
void KvCache::append_page(Node* node, PageId page) {
  NodePages& pages = node->pages;
  try {
    if (pages.empty()) pages.make_room(1);
    pages.ids.push_back(page);
  } catch (...) {
    release_page(node, page);
    throw;
  }
  if (pages.ids.size() > 1) return;
  ++node->parent->pages.n_children_with_pages;
  refresh(node->parent);
}

void KvCache::drop_last_page(Node* node) {
  NodePages& pages = node->pages;
  const PageId page = pages.ids.back();
  pages.ids.pop_back();
  release_page(node, page);
  if (!pages.empty()) return;
  NodePages& above = node->parent->pages;
  if (above.tail_child == node) above.tail_child = nullptr;
  --above.n_children_with_pages;
  refresh(node->parent);
}

// Gives back a page of the node. Another holder has only the positions before the node's start.
void KvCache::release_page(const Node* node, PageId page) {
  pool_.release(page);
  if (!windows_.any()) return;
  if (pool_.n_refs(page) == 0) {
    windows_.forget(page);
  } else {
    windows_.cut(page, node->start % page_len_);
  }
}

// The part of the node's next page.
uint32_t KvCache::part_for(const Node* node) const {
  const auto index = first_index(node) + static_cast<uint32_t>(node->pages.ids.size());
  return tree_.parts().part_of(node->part, index * page_len_);
}

// A path that shares a block with others follows them. A shorter beginning is computed once in each
// part that needs it: the path begins where it costs least to compute it and to make room.
uint32_t KvCache::first_part(uint64_t isolation_key, std::span<const Token> tokens,
                             uint32_t n_public) const {
  const PathParts& parts = tree_.parts();
  if (parts.n_parts == 1) return 0;
  const auto oldest = [](const EvictionOrder& order) {
    return order.empty() ? EvictionKey{true, UINT64_MAX, UINT64_MAX, nullptr} : *order.begin();
  };
  const auto first_victim = std::ranges::min_element(evictable_, {}, oldest);
  const auto n = static_cast<uint32_t>(tokens.size());
  const auto cost_of = [&](uint32_t part) {
    const uint32_t n_known = tree_.n_known(isolation_key, tokens, n_public, part);
    const uint32_t n_new = std::min(n, parts.block_len) - std::min(n_known, parts.block_len);
    const size_t n_pinned = tree_.n_pinned_tokens(part), n_pages = n_new / page_len_ + 1;
    size_t n_evicted = (n_pages - std::min(n_pages, pool_.n_free(part))) * page_len_;
    if (evictable_.begin() + part == first_victim) n_evicted /= 2;  // the least likely to be missed
    return StartCost{.n_behind = n_known < parts.block_len ? n : n - n_known,
                     .waits = n_pinned + n_new > pool_.n_pages_each() * page_len_,
                     .n_tokens = kComputed * (n - n_known) + n_pinned + n_evicted};
  };
  uint32_t best = 0;
  StartCost least = cost_of(0);
  for (uint32_t part = 1; part < parts.n_parts; ++part)
    if (const StartCost cost = cost_of(part); cost < least) best = part, least = cost;
  return best;
}

std::optional<PageId> KvCache::take_page(uint32_t part) {
  for (;;) {
    if (const std::optional<PageId> page = pool_.allocate(part)) {
      if (!windows_.any() || windows_.give(*page)) return page;
      pool_.release(*page);
      return std::nullopt;
    }
    if (evict_one_page(part)) continue;
    short_part_ = part;
    return std::nullopt;
  }
}

bool KvCache::has_page(const Node* node, uint32_t part) const {
  return std::ranges::any_of(node->pages.ids,
                             [&](PageId page) { return pool_.part_of(page) == part; });
}

bool KvCache::has_pages_where_short(const Node* tip) const {
  if (pool_.n_parts() == 1) return true;
  while (!tip->is_root() && !has_page(tip, short_part_)) tip = tip->parent;
  return !tip->is_root();
}

// The node to evict from: the end of the least recently used unlocked path whose eviction frees
// pages of this part, now or after the pages behind are gone. Paths that no sequence waits for come
// first. Null: there is none.
Node* KvCache::next_victim(uint32_t part) const {
  if (!evictable_[part].empty()) return std::get<Node*>(*evictable_[part].begin());
  const auto has_pages = [&](const Node* node) {
    for (; !node->is_root() && node->n_locks == 0; node = node->parent)
      if (has_page(node, part)) return true;
    return false;
  };
  const EvictionKey* first = nullptr;
  for (const EvictionOrder& order : evictable_) {
    const auto found = std::ranges::find_if(
        order, [&](const EvictionKey& key) { return has_pages(std::get<Node*>(key)); });
    if (found != order.end() && (first == nullptr || *found < *first)) first = &*found;
  }
  return first == nullptr ? nullptr : std::get<Node*>(*first);
}

bool KvCache::evict_one_page(uint32_t part) {
  Node* node = next_victim(part);
  if (node == nullptr) return false;
  drop_last_page(node);
  ++n_evicted_pages_;
  const uint32_t covered =
      (first_index(node) + static_cast<uint32_t>(node->pages.ids.size())) * page_len_;
  const uint32_t n_kept = node->pages.empty() ? 0 : covered - node->start;
  refresh(node);
  forget_after(node, std::min(n_kept, node->n_committed));
  return true;
}

void KvCache::forget_after(Node* node, uint32_t n_kept) {
  places_.forget_after(*node, n_kept);
  tree_.forget_after(node, n_kept);
}

void KvCache::evict_all() {
  for (uint32_t part = 0; part < pool_.n_parts(); ++part)
    while (evict_one_page(part)) continue;
}

void KvCache::compact(Node* tip) {
  PANDO_CHECK(copies_.empty() && tree_.issued().empty() && !any_in_flight());
  for (Node* node = tip; !node->parent->is_root(); node = node->parent) {
    NodePages& above = node->parent->pages;
    if (node->start % page_len_ == 0 || node->pages.empty() || above.tail_child != nullptr)
      continue;
    if (windows_.any() && windows_.is_held(above.ids.back())) continue;
    Node* grandparent = node->parent->parent;
    if (above.ids.size() == 1 && grandparent->pages.tail_child == node->parent)
      grandparent->pages.tail_child = nullptr;  // it may share again one turn later
    release_page(node->parent, above.ids.back());
    above.ids.back() = node->pages.ids.front();
    pool_.add_ref(above.ids.back());
    above.tail_child = node;
  }
}

// --- steps ---------------------------------------------------------------------------------------

void KvCache::submit() {
  tree_.submit();
  places_.submit();
  windows_.submit();
  forget_step();
}

void KvCache::commit() {
  tree_.commit([this](Node& node) { refresh(&node); });  // its sequences may have gone
  places_.commit();
  windows_.commit();
}

void KvCache::abort() {
  places_.abort();
  tree_.abort([this](Node& node) { cut_pages(node); });
  forget_step();
}

void KvCache::abort_all() {
  places_.abort_all();
  windows_.abort_all();
  tree_.abort_all([this](Node& node) { cut_pages(node); });
  forget_step();
}

void KvCache::forget_step() {
  copies_.clear();
  window_copies_.clear();
  fan_outs_.clear();
}

// Deeper nodes come first, so that a page is dropped by the child before its parent asks for it.
void KvCache::cut_pages(Node& node) {
  while (node.pages.ids.size() > n_pages_for(&node, node.n_issued)) drop_last_page(&node);
  refresh(&node);
}

void KvCache::on_split(Node& upper, Node& lower) {
  std::vector<PageId>& ids = lower.pages.ids;
  const size_t n_upper = n_pages_for(&upper, upper.n_issued);
  const size_t lower_from =
      lower.n_issued == 0 ? ids.size() : first_index(&lower) - first_index(&upper);
  PANDO_CHECK(n_upper <= ids.size() && lower_from <= ids.size());
  upper.pages.ids.assign(ids.begin(), ids.begin() + n_upper);  // there is room
  ids.erase(ids.begin(), ids.begin() + lower_from);
  if (upper.parent->pages.tail_child == &lower) upper.parent->pages.tail_child = &upper;
  for (FanOut& fan_out : fan_outs_)  // into the first page, which is the upper part's now
    if (fan_out.below == &lower) fan_out.below = &upper;
  if (!lower.pages.empty()) {
    upper.pages.n_children_with_pages = 1;
    if (lower_from < n_upper) {  // cut inside a page: both hold it
      pool_.add_ref(ids.front());
      upper.pages.tail_child = &lower;
    }
  }
  places_.on_split(upper, lower);
  refresh(&lower);
  refresh(&upper);
}

// --- eviction order ------------------------------------------------------------------------------

void KvCache::refresh(Node* node) {
  NodePages& pages = node->pages;
  if (pages.evictable) pages.entry = evictable_[pages.order].extract(pages.key);
  const bool locked = node->n_locks > 0 && !fault_on(Fault::kEvictPinned);
  pages.evictable = !node->is_root() && !pages.empty() && !locked &&
                    pages.n_children_with_pages == 0 && node->n_issued == node->n_committed;
  if (!pages.evictable) return;
  pages.entry.value() = pages.key = {node->n_pins > 0, node->last_used, node->id, node};
  pages.order = pool_.part_of(pages.ids.back());
  evictable_[pages.order].insert(std::move(pages.entry));
}

void KvCache::refresh_path(Node* tip) {
  for (Node* node = tip; !node->is_root(); node = node->parent) refresh(node);
}

void KvCache::check_invariants() const {
  tree_.check_invariants();
  places_.check_invariants();
  windows_.check_invariants();
  std::vector<uint32_t> n_refs(pool_.n_pages(), 0);
  size_t n_evictable = 0;
  for (const Node* node : tree_.nodes()) {
    const NodePages& pages = node->pages;
    PANDO_CHECK(pages.ids.size() == n_pages_for(node, node->n_issued));
    for (const PageId page : pages.ids) ++n_refs[page];
    uint32_t n_children = 0;
    for (const auto& [key, child] : node->children) n_children += !child->pages.empty();
    PANDO_CHECK(n_children == pages.n_children_with_pages);
    if (pages.tail_child != nullptr) {
      PANDO_CHECK(pages.tail_child->parent == node);
      PANDO_CHECK(pages.tail_child->pages.ids.front() == pages.ids.back());
    }
    n_evictable += pages.evictable;
    PANDO_CHECK(pages.evictable == (!pages.empty() && node->n_locks == 0 && n_children == 0 &&
                                    node->n_issued == node->n_committed));
  }
  for (const EvictionOrder& order : evictable_) n_evictable -= order.size();
  PANDO_CHECK(n_evictable == 0);
  size_t n_held = 0;
  for (size_t page = 0; page < n_refs.size(); ++page) {
    PANDO_CHECK(n_refs[page] == pool_.n_refs(static_cast<PageId>(page)));
    n_held += n_refs[page] > 0;
  }
  PANDO_CHECK(n_held + pool_.n_free() == pool_.n_pages());
}

}  // namespace pando
