// The rows of texts, which see both ways, pass by pass (TextPasses).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract/model_spec.h"
#include "contract/step_plan.h"

namespace pando {

// The rows of the plan that the step takes through a pass, ascending.
std::vector<uint32_t> rows_of_pass(const StepPlan& plan, uint32_t pass);

// The plan of some of these rows, which ascend: tokens and their types, positions, slots, and the
// attention of each row to its whole text.
StepPlan rows_of_texts(const StepPlan& plan, std::span<const uint32_t> rows);

// For each of these ascending rows, its row in the table of learned positions. The model has this
// table.
std::vector<uint32_t> learned_positions(const StepPlan& plan, std::span<const uint32_t> rows,
                                        const model::ModelSpec& spec);

// [rows] the last position of the text that each of the rows, which ascend, belongs to.
std::vector<uint32_t> last_of_texts(const StepPlan& plan, std::span<const uint32_t> rows);

}  // namespace pando
