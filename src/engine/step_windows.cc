#include "engine/step_windows.h"

#include <algorithm>
#include <span>
#include <utility>

#include "engine/partings.h"

namespace pando {

StepWindows::StepWindows(KvCache& cache, uint32_t every)
    : windows_(cache.windows()),
      page_len_(static_cast<uint32_t>(cache.page_len())),
      every_(std::max(every, 4 * windows_.window())) {}

uint32_t StepWindows::first_row(const Node* tip, uint32_t limit) const {
  uint32_t position = limit;
  const Node* node = tip;
  for (uint32_t end = limit; end > windows_.first_read(position);) {
    const uint32_t index = (end - 1) / page_len_, begin = index * page_len_;
    while (node->pages.empty() || index < node->start / page_len_) node = node->parent;
    // Rows after `position` are of this node, or of one above that ends in this page. Each reads
    // its own node's page.
    for (const Node* up = node; up == node || up->end() > position; up = up->parent) {
      if (up->is_root() || up->end() <= begin) break;
      const PageId page = up->pages.ids.at(index - up->start / page_len_);
      const uint32_t written_end = begin + windows_.n_written(page);
      if (written_end < end) position = std::min(position, written_end);
    }
    end = begin;
  }
  return position;
}

uint32_t StepWindows::most_rows(uint32_t from) const {
  const size_t end = windows_.first_read(from) + windows_.pool().n_pages() * page_len_;
  return static_cast<uint32_t>(std::min<size_t>(end - from, UINT32_MAX));
}

// Lists in listed_ the pages that rows [from, to) of a sequence read or write.
void StepWindows::list_pages(const Sequence& sequence, uint32_t from, uint32_t to) {
  listed_.clear();
  for_each_page({sequence.tip, windows_.first_read(from), from, to}, page_len_,
                [&](const PathPage& page) { listed_.push_back(page); });
}

void StepWindows::hold_listed() {
  for (const PathPage& held : listed_) windows_.hold(held.page);
}

// The sequence goes on from row `from` and now holds listed_ instead of its old pages. The holds
// are already counted. Pages late in the path are released first, so they are taken first.
void StepWindows::swap_held(Sequence& sequence, uint32_t from) {
  HeldWindow& held = sequence.window;
  std::swap(held.pages, listed_);
  held.from = from;
  for (const PathPage& page : listed_) windows_.release(page.page, /*keep=*/true);
}

void StepWindows::hold_start(Sequence& sequence, uint32_t from) {
  if (!windows_.any()) return;
  started_.push_back(&sequence);
  list_pages(sequence, from, from);
  hold_listed();
  swap_held(sequence, from);
}

bool StepWindows::reserve(Sequence& sequence, uint32_t to) {
  if (!windows_.any()) return true;
  const uint32_t from = sequence.window.from;
  if (shares_.size() == shares_.capacity()) shares_.reserve(2 * shares_.size() + 1);
  list_pages(sequence, from, to);
  for (size_t i = 0; i < listed_.size(); ++i) {
    const PageId page = listed_[i].page;
    if (windows_.window_page(page) == kNoPage && !windows_.give(page)) {
      while (i-- > 0) windows_.release(listed_[i].page, /*keep=*/true);
      return false;
    }
    windows_.hold(page);
  }
  swap_held(sequence, from);
  // Reserved so that hold_reserved() needs no memory: each new node may add a page.
  const size_t n_most = listed_.size() + sequence.window.pages.size() + (to - from) + 2;
  listed_.reserve(n_most);
  shares_.push_back({&sequence, from, to});
  return true;
}

void StepWindows::hold_reserved(Sequence& sequence) {
  if (!windows_.any()) return;
  const WindowShare& share = shares_.back();
  list_pages(sequence, share.from, share.to);
  hold_listed();
  swap_held(sequence, share.from);
}

void StepWindows::take_back(Sequence& sequence) {
  if (!windows_.any()) return;
  const uint32_t from = shares_.back().from;
  list_pages(sequence, from, from);
  hold_listed();
  swap_held(sequence, from);
  shares_.pop_back();
}

void StepWindows::let_go(Sequence& sequence) {
  std::erase(started_, &sequence);
  for (const PathPage& held : sequence.window.pages) windows_.release(held.page, /*keep=*/true);
  sequence.window.pages.clear();
}

void StepWindows::submit() {
  for (const WindowShare& share : shares_) set_written(share);
  for (const WindowShare& share : shares_) slide(share);
  shares_.clear();
  started_.clear();
}

void StepWindows::set_written(const WindowShare& share) {
  for (const PathPage& held : share.sequence->window.pages) {
    const uint32_t begin = held.index * page_len_;
    const uint32_t end = std::min({held.end, share.to, begin + page_len_});
    if (end > share.from) windows_.set_written(held.page, end - begin);
  }
}

// Gives back the pages that no row from share.to on reads.
void StepWindows::slide(const WindowShare& share) {
  HeldWindow& held = share.sequence->window;
  const uint32_t first = windows_.first_read(share.to) / page_len_;
  const auto left =
      std::ranges::find_if(held.pages, [&](const PathPage& page) { return page.index < first; });
  for (auto page = left; page != held.pages.end(); ++page)
    windows_.release(page->page, stays(share.sequence->tip, page->index, share.to));
  held.pages.erase(left, held.pages.end());
  held.from = share.to;
}

// True if the page at this index of the path belongs to a window that stays. No row after `to` is
// computed.
bool StepWindows::stays(const Node* tip, uint32_t index, uint32_t to) const {
  const uint32_t begin = index * page_len_, end = begin + page_len_;
  const auto sees = [&](uint32_t position) {
    return position > begin && position <= to && windows_.first_read(position) < end;
  };
  if (sees((begin / every_ + 1) * every_)) return true;
  for (const Node* node = tip; !node->is_root() && node->end() > begin; node = node->parent)
    if (sees(node->end()) && is_parting(*node)) return true;
  return false;
}

// A sequence that got no room in the step may also hold a page that the step made.
void StepWindows::abort() {
  while (!started_.empty()) let_go(*started_.back());
  shares_.clear();
}

}  // namespace pando
