// What a batch of stacks needs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lab/techniques/prompt_groups.h"
#include "schedule/batcher.h"

namespace pando::lab {

// Of a context with its questions, or of some of them.
struct ContextSize {
  uint64_t cells = 0;  // of the context and its questions, without answers
  uint64_t questions = 0;
  uint64_t answer = 0;  // tokens of the longest answer

  void add(const ContextSize& other);
};

// What a prompt adds to its context. The first prompt brings the context itself.
struct PromptPart {
  uint32_t context;  // index into PromptGroups::groups
  bool is_first;
  ContextSize size;
};
std::vector<PromptPart> parts_of(const PromptGroups& groups,
                                 std::span<const WaitingPrompt> prompts);

// A batch that grows: contexts 0, 1, ... of which n_contexts each make a stack.
class StackBatch {
 public:
  StackBatch(uint32_t instruction_len, uint32_t n_contexts)
      : instruction_len_(instruction_len), n_contexts_(n_contexts) {}

  // All or a part of a context. Contexts begin in order.
  void add(uint32_t context, const ContextSize& size);

  // Of each stack, without instruction and pads.
  std::span<const ContextSize> stacks() const { return stacks_; }
  // The largest of them.
  const ContextSize& widest() const { return widest_; }
  uint64_t n_rows() const { return stacks_.size() * (instruction_len_ + widest_.cells); }
  // Pages that the batch can come to need, with those that keep its instruction.
  uint64_t n_pages(uint32_t page_len) const;

 private:
  uint32_t instruction_len_, n_contexts_;
  std::vector<ContextSize> stacks_;
  ContextSize widest_;  // the most of each of its numbers
};

}  // namespace pando::lab
