#include "lab/techniques/stack_batch.h"

#include <algorithm>

namespace pando::lab {

void ContextSize::add(const ContextSize& other) {
  cells += other.cells;
  questions += other.questions;
  answer = std::max(answer, other.answer);
}

std::vector<PromptPart> parts_of(const PromptGroups& groups,
                                 std::span<const WaitingPrompt> prompts) {
  std::vector<PromptPart> parts(prompts.size());
  for (uint32_t context = 0; context < groups.groups.size(); ++context) {
    const ContextGroup& group = groups.groups[context];
    for (const uint32_t i : group.prompts) {
      const auto n = static_cast<uint32_t>(prompts[i].tokens.size());
      const bool is_first = i == group.prompts[0];
      const uint32_t n_before = groups.instruction_len + (is_first ? 0 : group.context_len);
      parts[i] = {context,
                  is_first,
                  {.cells = n - n_before, .questions = 1, .answer = prompts[i].longest - n}};
    }
  }
  return parts;
}

void StackBatch::add(uint32_t context, const ContextSize& size) {
  if (context / n_contexts_ == stacks_.size()) stacks_.emplace_back();
  ContextSize& stack = stacks_[context / n_contexts_];
  stack.add(size);
  widest_ = {.cells = std::max(widest_.cells, stack.cells),
             .questions = std::max(widest_.questions, stack.questions),
             .answer = std::max(widest_.answer, stack.answer)};
}

uint64_t StackBatch::n_pages(uint32_t page_len) const {
  const auto pages = [&](uint64_t n_cells) { return (n_cells + page_len - 1) / page_len; };
  // Every pass adds one cell to each stack for each question of the largest stack.
  return stacks_.size() *
             pages(instruction_len_ + widest_.cells + widest_.answer * widest_.questions) +
         pages(instruction_len_);
}

}  // namespace pando::lab
