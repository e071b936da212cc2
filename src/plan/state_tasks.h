// State tasks of a step, from its rows and the places on their paths.
#pragma once

#include "cache/places.h"
#include "plan/row_layout.h"

namespace pando {

// Appends to layout.step.plan.state_tasks and state_writes. Each run of rows at consecutive
// positions of a path goes on from a place, from the rows before it, or from the path's beginning.
// Each place of the step is written by the row just before it in its node, so a row writes at most
// one place.
void append_state_tasks(RowLayout& layout, const Places& places);

}  // namespace pando
