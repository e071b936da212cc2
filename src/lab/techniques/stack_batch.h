// What a batch of stacks needs and costs: IPPD A.2, for any number of contexts in a stack.
#pragma once

#include <cstdint>
#include <span>

#include "lab/techniques/prompt_groups.h"
#include "schedule/batcher.h"

namespace pando::lab {

struct BatchSize {
  uint64_t n_stacks;
  uint64_t n_rows;   // of the headers
  uint64_t n_pages;  // that it can come to need
};

// Of the first n_groups groups, n_contexts in a stack, as far as their prompts are in the batch.
BatchSize batch_size(const PromptGroups& groups, size_t n_groups, uint32_t n_contexts,
                     std::span<const WaitingPrompt> batch, uint32_t page_len);

// How many contexts in a stack cost the least, by a reckoning of ours.
uint32_t contexts_of_stack(const PromptGroups& groups,
                           std::span<const std::span<const Token>> prompts);

}  // namespace pando::lab
