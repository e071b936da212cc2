// Rows and pages of a batch of stacks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/techniques/prompt_groups.h"
#include "schedule/batcher.h"

namespace pando::lab {

// Size of a context with all or some of its questions.
struct ContextSize {
  uint64_t cells = 0;  // cells of the context and its questions, without answers
  uint64_t questions = 0;
  uint64_t answer = 0;  // tokens of the longest answer

  void add(const ContextSize& other);
};

// The part that a prompt adds to its context. The first prompt of a context includes the context.
struct PromptPart {
  uint32_t context;  // index into PromptGroups::groups
  bool is_first;
  ContextSize size;
};
std::vector<PromptPart> parts_of(const PromptGroups& groups,
                                 std::span<const WaitingPrompt> prompts);

// A growing batch of contexts 0, 1, ...; every n_contexts of them make a stack.
class StackBatch {
 public:
  StackBatch(uint32_t instruction_len, uint32_t n_contexts)
      : instruction_len_(instruction_len), n_contexts_(n_contexts) {}

  // Adds all or a part of a context. Contexts begin in order.
  void add(uint32_t context, const ContextSize& size);

  // The size of each stack, without instruction and pads.
  std::span<const ContextSize> stacks() const { return stacks_; }
  // The largest values over all stacks.
  const ContextSize& widest() const { return widest_; }
  uint64_t n_rows() const { return stacks_.size() * (instruction_len_ + widest_.cells); }
  // The most pages that the batch can need, with those that keep its instruction.
  uint64_t n_pages(uint32_t page_len) const;

 private:
  uint32_t instruction_len_, n_contexts_;
  std::vector<ContextSize> stacks_;
  ContextSize widest_;  // the largest value of each member
};

}  // namespace pando::lab
