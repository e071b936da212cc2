#include "schedule/schedule.h"

#include <algorithm>

namespace pando {

std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget) {
  std::vector<uint32_t> left = view.segment_rows;
  std::vector<Advance> advances;
  const auto advance = [&](uint32_t index) {
    const WorkView::Item& item = view.items[index];
    uint32_t cost = 0, n_again = 0, n_rows = 0;
    bool complete = true, goes_along = false;
    const auto take = [&](uint32_t segment) {
      const uint32_t n = std::min(left[segment], budget - cost);
      left[segment] -= n;
      cost += n;
      complete = left[segment] == 0;
      goes_along |= item.wants_all_outputs && left[segment] < view.segment_rows[segment];
      return n;
    };
    for (size_t i = 0; complete && i < item.again.size(); ++i) {
      take(item.again[i]);
      n_again += view.segment_rows[item.again[i]] - left[item.again[i]];
    }
    for (size_t i = 0; complete && i < item.segments.size(); ++i) n_rows += take(item.segments[i]);
    if (cost == 0 && !complete && !goes_along) return;
    budget -= cost;
    advances.push_back({index, n_again, n_rows});
  };
  for (const bool decoding : {true, false})
    for (uint32_t i = 0; i < view.items.size(); ++i)
      if (view.items[i].decoding == decoding) advance(i);
  return advances;
}

}  // namespace pando
