#include "engine/work_view.h"

#include <algorithm>

#include "engine/residency.h"

namespace pando {
namespace {

// Calls use(node, first, n, is_cached) for the rows that a sequence waits for, from its tip
// upwards: those that are missing, and cached ones from `begin` on that it computes again.
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

void WorkViewBuilder::add(Sequence& sequence) {
  WorkView::Item item;
  uint32_t n_wanted = 0;
  for_each_wanted(sequence, residency_.first_row(sequence),
                  [&](const Node* node, uint32_t first, uint32_t n, bool is_cached) {
                    (is_cached ? item.again : item.segments).push_back(segment({node, first}, n));
                    n_wanted += n;
                  });
  std::reverse(item.again.begin(), item.again.end());
  std::reverse(item.segments.begin(), item.segments.end());
  item.wants_all_outputs = sequence.scores_prompt();
  item.running = sequence.running;
  item.decoding = sequence.running && n_wanted <= 1 && !sequence.completion.tokens.empty();
  view_.items.push_back(std::move(item));
  sequences_.push_back(&sequence);
}

void WorkViewBuilder::add_times(const Sequence& sequence) {
  for (const Node* node = sequence.tip; !node->is_root(); node = node->parent) {
    if (node->n_committed == 0) continue;
    const auto [entry, added] =
        cached_of_.try_emplace(node, static_cast<uint32_t>(view_.cached_rows.size()));
    if (added) view_.cached_rows.push_back(node->n_committed);
    view_.items.back().cached.push_back(entry->second);
  }
}

bool WorkViewBuilder::goes_along(const Sequence& sequence) const {
  if (!sequence.scores_prompt()) return false;
  Key next{};
  for_each_wanted(sequence, residency_.first_row(sequence),
                  [&](const Node* node, uint32_t first, uint32_t, bool) {
                    next = {node, first};
                  });
  return segment_of_.contains(next);
}

uint32_t WorkViewBuilder::segment(Key key, uint32_t n_rows) {
  const auto [entry, added] =
      segment_of_.try_emplace(key, static_cast<uint32_t>(view_.segment_rows.size()));
  if (added) {
    view_.segment_rows.push_back(n_rows);
    view_.segment_begin.push_back(key.first->start + key.second);
    n_rows_ += n_rows;
  }
  return entry->second;
}

}  // namespace pando
