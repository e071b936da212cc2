// Prompts as instruction, contexts and questions: equation 1 of IPPD, found from their tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pando/values/token.h"

namespace pando::lab {

// The questions of one context. Each prompt has instruction_len tokens of the instruction, then
// context_len of the context, then at least one token of its own.
struct ContextGroup {
  uint32_t context_len;
  std::vector<uint32_t> prompts;  // indices, ascending
};

struct PromptGroups {
  uint32_t instruction_len = 0;      // tokens that all prompts begin with
  std::vector<ContextGroup> groups;  // in order of their first prompts
};

// prompts: at least one, each of at least one token.
PromptGroups group_prompts(std::span<const std::span<const Token>> prompts);

}  // namespace pando::lab
