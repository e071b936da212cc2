#include "schedule/schedule.h"

#include <algorithm>

#include "schedule/step_draft.h"

namespace pando {

std::vector<Advance> schedule_fcfs(const WorkView& view, uint32_t budget) {
  StepDraft draft(view);
  for (const bool decoding : {true, false})
    for (uint32_t i = 0; i < view.items.size(); ++i)
      if (view.items[i].decoding == decoding) budget -= draft.take(i, budget);
  return draft.advances();
}

}  // namespace pando
