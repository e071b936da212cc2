// The plan of a step that takes texts, whose rows see both ways, through some of their passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "contract/step_plan.h"

namespace pando {

// A text and its part in the step. Elements of its passes are numbered: row r of pass p of a text
// of n rows is p * n + r.
struct PlannedText {
  std::span<const Token> tokens;
  std::span<const uint8_t> token_types;  // empty: all 0
  std::span<const PageId> pages;         // for all its rows
  uint64_t begin, end;                   // numbers [begin, end)
  std::span<const uint32_t> outputs;     // rows of the text, ascending, whose last pass this is
};

StepPlan plan_texts(std::span<const PlannedText> texts, int page_len, int tile_len);

}  // namespace pando
