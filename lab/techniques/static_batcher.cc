#include "lab/techniques/static_batcher.h"

#include <algorithm>

#include "lab/techniques/bin_packing.h"

namespace pando::lab {
namespace {

// Puts those first that are in the first n_bins bins. Returns how many they are.
uint32_t order_by_bins(std::vector<Advance>& waiting, uint32_t n_bins) {
  std::vector<uint32_t> lengths;
  for (const Advance& next : waiting) lengths.push_back(next.n_again + next.n_rows);
  std::vector<Advance> ordered;
  uint32_t n_first = 0;
  for (const std::vector<uint32_t>& bin :
       first_fit_decreasing(lengths, lengths.empty() ? 0 : std::ranges::max(lengths))) {
    for (const uint32_t i : bin) ordered.push_back(waiting[i]);
    if (n_bins == 0) continue;
    --n_bins;
    n_first = static_cast<uint32_t>(ordered.size());
  }
  waiting = std::move(ordered);
  return n_first;
}

}  // namespace

std::vector<Advance> schedule_whole(const WorkView& view, const StaticBatching& batching) {
  const auto n_rows = [&](uint32_t index, const std::vector<uint32_t> WorkView::Item::*segments) {
    uint32_t n = 0;
    for (const uint32_t segment : view.items[index].*segments) n += view.segment_rows[segment];
    return n;
  };
  const auto advance = [&](uint32_t index) {
    return Advance{index, n_rows(index, &WorkView::Item::again),
                   n_rows(index, &WorkView::Item::segments)};
  };
  std::vector<Advance> advances, waiting;
  uint64_t n_taken = 0;
  for (uint32_t i = 0; i < view.items.size(); ++i) {
    (view.items[i].running ? advances : waiting).push_back(advance(i));
    if (view.items[i].running) n_taken += advances.back().n_again + advances.back().n_rows;
  }
  if (batching.is_static() && !advances.empty()) return advances;
  if (batching.order == StaticBatching::Order::kLength)
    std::ranges::stable_sort(waiting, {}, [](const Advance& a) { return a.n_again + a.n_rows; });
  uint32_t n_most = batching.n_sequences;
  if (batching.order == StaticBatching::Order::kBins) n_most = order_by_bins(waiting, n_most);
  uint32_t longest = 0;
  uint64_t n_started = 0;
  GrowingBins bins;
  for (const Advance& next : waiting) {
    if (n_started == view.n_starts) break;
    if (batching.is_static() && advances.size() == n_most) break;
    const uint32_t length = next.n_again + next.n_rows;
    ++n_started;
    longest = std::max(longest, length);
    bool fits = true;
    if (batching.shape == StaticBatching::Shape::kBins) {
      bins.add(length);
      fits = bins.fit(batching.n_rows);
    } else if (batching.shape == StaticBatching::Shape::kRectangle) {
      fits = n_started * longest <= batching.n_rows;
    } else {
      fits = (n_taken += length) <= batching.n_rows;
    }
    if (!advances.empty() && !fits) break;
    advances.push_back(next);
  }
  return advances;
}

Sight StaticBatcher::sight(const Queue& queue) {
  Sight sight;
  sight.any_order = batching_.order != StaticBatching::Order::kArrival;
  if (!sight.any_order) sight.n_rows = batching_.n_rows;
  if (batching_.is_static()) sight.n_waiting = queue.n_running == 0 ? batch_of(queue) : 0;
  return sight;
}

}  // namespace pando::lab
