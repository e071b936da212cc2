// Prompts as instruction, contexts and questions: equation 1 of IPPD, found from their tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/token.h"

namespace pando::lab {

// Questions of one context: prompt i is tokens [0, instruction_len) of the instruction, the next
// context_len of the context, and at least one of its own.
struct ContextGroup {
  uint32_t context_len;
  std::vector<uint32_t> prompts;  // indices, ascending
};

struct PromptGroups {
  uint32_t instruction_len = 0;      // that all prompts begin with
  std::vector<ContextGroup> groups;  // in order of their first prompts
};

// At most n prompts, each of at least one token.
PromptGroups group_prompts(std::span<const std::span<const Token>> prompts);

}  // namespace pando::lab
