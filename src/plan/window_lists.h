// Window pages that a step reads and writes.
#pragma once

#include <vector>

#include "plan/row_layout.h"

namespace pando {

// Fills layout.step.plan.windows; its attention tasks are there already. A row writes to the window
// page of each wanted path through the row, if the position is not written there yet.
void list_windows(RowLayout& layout, const KvCache& cache, const std::vector<WantedOutput>& wanted);

}  // namespace pando
