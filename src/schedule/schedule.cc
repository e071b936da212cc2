#include "schedule/schedule.h"

#include <algorithm>

namespace pando {

std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget) {
  std::vector<uint32_t> left = view.segment_rows;
  std::vector<Advance> advances;
  const auto advance = [&](uint32_t index) {
    const WorkView::Item& item = view.items[index];
    uint32_t n_rows = 0;
    bool complete = true;
    for (const uint32_t segment : item.segments) {
      const uint32_t n = std::min(left[segment], budget - n_rows);
      left[segment] -= n;
      n_rows += n;
      if (left[segment] > 0) {
        complete = false;
        break;
      }
    }
    const uint32_t cost = item.cached ? 1 : n_rows;
    if (cost > budget || (n_rows == 0 && !complete)) return;
    budget -= cost;
    advances.push_back({index, n_rows});
  };
  for (const bool decoding : {true, false})
    for (uint32_t i = 0; i < view.items.size(); ++i)
      if (view.items[i].decoding == decoding) advance(i);
  return advances;
}

}  // namespace pando
