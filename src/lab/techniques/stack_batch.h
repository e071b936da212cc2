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
  uint64_t n_pages;  // pages that the batch can come to need
};

// The size of a batch of the first n_groups groups, n_contexts of them in a stack. Prompts that are
// not in `batch` do not count.
BatchSize batch_size(const PromptGroups& groups, size_t n_groups, uint32_t n_contexts,
                     std::span<const WaitingPrompt> batch, uint32_t page_len);

// The number of contexts in a stack that costs the least, by an estimate of ours (stack_batch.cc).
uint32_t contexts_of_stack(const PromptGroups& groups,
                           std::span<const std::span<const Token>> prompts);

}  // namespace pando::lab
