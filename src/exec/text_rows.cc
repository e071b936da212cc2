#include "exec/text_rows.h"

#include "base/fault.h"
#include "exec/slice.h"

namespace pando {

std::vector<uint32_t> rows_of_pass(const StepPlan& plan, uint32_t pass) {
  std::vector<uint32_t> rows;
  for (const TextPasses& text : plan.texts) {
    const auto [begin, end] = text.rows_of(pass);
    for (uint32_t row = begin; row < end; ++row) rows.push_back(text.row_begin + row);
  }
  return rows;
}

StepPlan rows_of_texts(const StepPlan& plan, std::span<const uint32_t> rows) {
  StepPlan few = attention_of(plan, rows);
  for (const uint32_t row : rows) {
    few.slots.push_back(plan.slots[row]);
    if (!plan.token_types.empty()) few.token_types.push_back(plan.token_types[row]);
  }
  for (uint32_t i = 0; i <= few.n_rows(); ++i) few.slot_begin[i] = i;
  return few;
}

std::vector<uint32_t> learned_positions(const StepPlan& plan, std::span<const uint32_t> rows,
                                        const model::ModelSpec& spec) {
  const auto first = static_cast<uint32_t>(spec.position_offset);
  std::vector<uint32_t> of_all(plan.n_rows());
  for (const TextPasses& text : plan.texts) {
    uint32_t next = first;
    for (uint32_t row = text.row_begin; row < text.row_end; ++row)
      of_all[row] = plan.tokens[row] == spec.pad_token ? first - 1 : next++;
  }
  std::vector<uint32_t> learned;
  for (const uint32_t row : rows) learned.push_back(of_all[row]);
  return learned;
}

std::vector<uint32_t> last_of_texts(const StepPlan& plan, std::span<const uint32_t> rows) {
  std::vector<uint32_t> last;
  auto text = plan.texts.begin();
  for (const uint32_t row : rows) {
    while (text->row_end <= row) ++text;
    last.push_back(fault_on(Fault::kTextSeesBefore) ? plan.positions[row] : text->n_rows() - 1);
  }
  return last;
}

}  // namespace pando
