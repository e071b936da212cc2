#include "engine/work_view.h"

#include <algorithm>
#include <iterator>

#include "engine/residency.h"

namespace pando {
namespace {

// Calls use(node, first, n, is_cached) for the rows that a sequence waits for, from its tip
// upwards: missing rows, and cached rows from `begin` on that are computed again.
template <class Use>
void for_each_wanted(const Sequence& sequence, uint32_t begin, const Use& use) {
  for (const Node* node = sequence.tip; !node->is_root(); node = node->parent) {
    const uint32_t n_missing = node->size() - node->n_issued;
    if (n_missing == 0 && node->end() <= begin) return;  // so is everything above
    if (n_missing > 0) use(node, node->n_issued, n_missing, false);
    const uint32_t first = std::max(node->start, begin) - node->start;
    if (first < node->n_issued) use(node, first, node->n_issued - first, true);
  }
}

}  // namespace

uint32_t path_count(const Node* tip, uint32_t Node::*count) {
  uint32_t n = tip->end();
  for (const Node* node = tip; !node->is_root() && node->*count < node->size(); node = node->parent)
    n = node->start + node->*count;
  return n;
}

void WorkViewBuilder::reserve(size_t n) {
  sequences_.reserve(n);
  view_.items.reserve(n);
  view_.segment_rows.reserve(n);
  view_.segment_begin.reserve(n);
  segment_of_.reserve(n);
}

void WorkViewBuilder::add(Sequence& sequence) {
  WorkView::Item item;
  uint32_t n_wanted = 0;
  for_each_wanted(sequence, residency_.first_row(sequence),
                  [&](const Node* node, uint32_t first, uint32_t n, bool is_cached) {
                    n_wanted += n;
                    if (!is_cached) return item.segments.push_back(segment({node, first}, n));
                    const std::vector<uint32_t> again = cached_segments(node, first);
                    item.again.insert(item.again.end(), again.rbegin(), again.rend());
                  });
  std::reverse(item.again.begin(), item.again.end());
  std::reverse(item.segments.begin(), item.segments.end());
  item.wants_all_outputs = sequence.wants_prompt() || sequence.forced.n_on_path > 0;
  item.running = sequence.running;
  item.part = view_.ranks.n_parts == 1 ? 0 : sequence.tip->part;
  item.decoding = sequence.running && n_wanted <= 1 && !sequence.completion.tokens.empty();
  view_.items.push_back(std::move(item));
  sequences_.push_back(&sequence);
}

void WorkViewBuilder::add_times(const Sequence& sequence) {
  for (const Node* node = sequence.tip; !node->is_root(); node = node->parent) {
    if (node->n_submitted == 0) continue;
    const auto [entry, added] =
        cached_of_.try_emplace(node, static_cast<uint32_t>(view_.cached_rows.size()));
    if (added) {
      view_.cached_rows.push_back(node->n_submitted);
      if (view_.ranks.n_parts > 1) view_.cached_begin.push_back(node->start);
    }
    view_.items.back().cached.push_back(entry->second);
  }
}

bool WorkViewBuilder::goes_along(const Sequence& sequence) const {
  if (!sequence.wants_prompt()) return false;
  Key next{};
  bool next_is_cached = false;
  for_each_wanted(sequence, residency_.first_row(sequence),
                  [&](const Node* node, uint32_t first, uint32_t, bool is_cached) {
                    next = {node, first};
                    next_is_cached = is_cached;
                  });
  if (!next_is_cached) return segment_of_.contains(next);
  const auto found = cached_segments_of_.find(next.first);
  return found != cached_segments_of_.end() && found->second.begin()->first <= next.second;
}

uint32_t WorkViewBuilder::segment(Key key, uint32_t n_rows) {
  const auto [entry, added] =
      segment_of_.try_emplace(key, static_cast<uint32_t>(view_.segment_rows.size()));
  if (added) {
    n_rows_ += n_rows;
    add_segment(key.first->start + key.second, n_rows);
  }
  return entry->second;
}

uint32_t WorkViewBuilder::add_segment(uint32_t begin, uint32_t n_rows) {
  view_.segment_rows.push_back(n_rows);
  view_.segment_begin.push_back(begin);
  return static_cast<uint32_t>(view_.segment_rows.size() - 1);
}

// The cached rows of a node from `first` on. A segment that begins before is cut there, for all
// items that have it.
std::vector<uint32_t> WorkViewBuilder::cached_segments(const Node* node, uint32_t first) {
  std::map<uint32_t, uint32_t>& all = cached_segments_of_[node];
  const auto next = all.lower_bound(first);
  if (next == all.end() || next->first != first) {
    const uint32_t end = next == all.end() ? node->n_issued : next->first;
    const uint32_t lower = add_segment(node->start + first, end - first);
    if (next == all.begin()) {
      n_rows_ += end - first;
    } else {
      const auto [begin, upper] = *std::prev(next);
      view_.segment_rows[upper] = first - begin;
      for (WorkView::Item& item : view_.items)
        if (const auto at = std::ranges::find(item.again, upper); at != item.again.end())
          item.again.insert(at + 1, lower);
    }
    all.emplace(first, lower);
  }
  std::vector<uint32_t> segments;
  for (auto entry = all.find(first); entry != all.end(); ++entry) segments.push_back(entry->second);
  return segments;
}

}  // namespace pando
