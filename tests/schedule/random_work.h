// Random work for the scheduler, and its state after a step.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <set>
#include <vector>

#include "schedule/schedule.h"

namespace pando {

inline bool operator==(const Advance& a, const Advance& b) {
  return a.item == b.item && a.n_again == b.n_again && a.n_rows == b.n_rows;
}
inline void PrintTo(const Advance& a, std::ostream* out) {
  *out << "item " << a.item << " by " << a.n_again << " again and " << a.n_rows;
}

namespace testing {

// Segments as the nodes of random trees; an item's are a path from a root.
inline WorkView random_work(std::mt19937& rng, uint32_t most_items = 14,
                            uint32_t most_segments = 12) {
  const auto below = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  WorkView view;
  std::vector<std::vector<uint32_t>> path;
  for (uint32_t segment = 0, n = 1 + below(most_segments); segment < n; ++segment) {
    view.segment_rows.push_back(1 + below(rng() % 3 == 0 ? 30 : 3));
    path.push_back(segment > 0 && below(4) > 0 ? path[below(segment)] : std::vector<uint32_t>());
    path.back().push_back(segment);
  }
  const uint32_t n_missing = static_cast<uint32_t>(view.segment_rows.size());
  for (uint32_t i = 0, n = 1 + below(4); i < n; ++i) view.segment_rows.push_back(1 + below(3));
  for (uint32_t i = 0, n = below(most_items); i < n; ++i) {
    WorkView::Item item{.wants_all_outputs = below(4) == 0};
    const bool is_cached = below(6) == 0;
    if (is_cached || below(8) == 0)
      item.again.push_back(n_missing + below(view.segment_rows.size() - n_missing));
    item.decoding = !is_cached && below(3) == 0;
    if (!is_cached) item.segments = path[below(path.size())];
    view.items.push_back(std::move(item));
  }
  return view;
}

// Rows that the items still need, each once.
inline uint32_t work_left(const WorkView& view) {
  std::set<uint32_t> segments;
  uint32_t n = 0;
  for (const WorkView::Item& item : view.items) {
    segments.insert(item.segments.begin(), item.segments.end());
    segments.insert(item.again.begin(), item.again.end());
  }
  for (const uint32_t segment : segments) n += view.segment_rows[segment];
  return n;
}

struct CarriedOut {
  uint32_t n_rows = 0;          // that the step computes
  std::vector<bool> through;    // items that are complete, and gone from the view
  std::vector<uint32_t> taken;  // rows for each advance, beyond those of the ones before
};

// Carries out one step: takes the rows and removes the items that are through. in_order: after an
// advance that is not complete no other takes anything.
inline CarriedOut carry_out(WorkView& view, const std::vector<Advance>& advances, bool in_order) {
  std::vector<uint32_t> left = view.segment_rows;
  CarriedOut step{.through = std::vector<bool>(view.items.size())};
  bool refused = false;  // an earlier sequence wanted more rows than there were
  for (const Advance& advance : advances) {
    const WorkView::Item& item = view.items[advance.item];
    const uint32_t n_before = step.n_rows;
    bool complete = true;
    uint32_t n_again = advance.n_again, n_rows = advance.n_rows;
    for (const uint32_t segment : item.again) {  // counted from the segment's beginning
      const uint32_t n = std::min(n_again, view.segment_rows[segment]);
      const uint32_t n_left = std::min(left[segment], view.segment_rows[segment] - n);
      step.n_rows += left[segment] - n_left;
      left[segment] = n_left;
      n_again -= n;
      complete &= n_left == 0;
    }
    EXPECT_TRUE(complete || n_rows == 0) << "new rows before cached ones";
    for (const uint32_t segment : item.segments) {
      const uint32_t n = std::min(n_rows, left[segment]);
      left[segment] -= n;
      step.n_rows += n;
      n_rows -= n;
      complete &= left[segment] == 0;
    }
    EXPECT_EQ(n_again + n_rows, 0u) << "more rows than its path has";
    EXPECT_TRUE(complete || step.n_rows > n_before || item.wants_all_outputs)
        << "an advance that changes nothing";
    EXPECT_TRUE(!in_order || !refused || step.n_rows == n_before) << "overtakes an older one";
    refused |= !complete;
    step.through[advance.item] = complete;
    step.taken.push_back(step.n_rows - n_before);
  }
  for (size_t segment = 0; segment < view.segment_begin.size(); ++segment)
    view.segment_begin[segment] += view.segment_rows[segment] - left[segment];
  view.segment_rows = left;
  std::vector<WorkView::Item> rest;
  for (size_t i = 0; i < view.items.size(); ++i)
    if (!step.through[i]) rest.push_back(view.items[i]);
  view.items = std::move(rest);
  return step;
}

}  // namespace testing
}  // namespace pando
