#include "schedule/schedule.h"

#include <algorithm>

namespace pando {

std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget) {
  std::vector<uint32_t> left = view.segment_rows;
  std::vector<Advance> advances;
  const auto advance = [&](uint32_t index) {
    const WorkView::Item& item = view.items[index];
    const uint32_t n_again = std::min(item.n_again, budget);
    uint32_t n_rows = 0;
    bool complete = n_again == item.n_again, moves = n_again > 0;
    for (size_t i = 0; complete && i < item.segments.size(); ++i) {
      const uint32_t segment = item.segments[i];
      const uint32_t n = std::min(left[segment], budget - n_again - n_rows);
      left[segment] -= n;
      n_rows += n;
      complete = left[segment] == 0;
      const bool taken = left[segment] < view.segment_rows[segment];
      moves |= n > 0 || (taken && item.wants_all_outputs);
    }
    if (!moves && !complete) return;
    budget -= n_again + n_rows;
    advances.push_back({index, n_again, n_rows});
  };
  for (const bool decoding : {true, false})
    for (uint32_t i = 0; i < view.items.size(); ++i)
      if (view.items[i].decoding == decoding) advance(i);
  return advances;
}

}  // namespace pando
