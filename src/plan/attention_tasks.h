// Attention tasks of a step, from the page tables of its rows.
#pragma once

#include "plan/row_layout.h"

namespace pando {

enum class TaskSharing {
  kAcrossSequences,  // every run of rows with the same physical pages: Hydragen 3.2, 3.3
  kWithinSequence,   // rows of one path only: paged attention
};

// Walks the page tables tile by tile. Appends to layout.step.plan.tasks and task_pages.
void append_attention_tasks(RowLayout& layout, int page_len, int tile_len, TaskSharing sharing);

}  // namespace pando
