// The instruction that all stacks begin with, whose keys and values later batches copy: IPPD 4.4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/page_pool.h"
#include "exec/cpu/kernel/kv_layout.h"
#include "lab/techniques/prompt_groups.h"
#include "pando/values/token.h"

namespace pando::lab {

class KeptInstruction {
 public:
  const std::vector<PageId>& pages() const { return pages_; }

  // True where the kept instruction can be used: every prompt begins with it and is longer, and no
  // output is wanted within it. first_wanted: position of the first output that is wanted. `groups`
  // are then changed to begin with the instruction.
  bool take(std::span<const std::span<const Token>> prompts, PromptGroups& groups,
            uint32_t first_wanted) const;
  // Keeps these tokens and takes pages of `store` for them; the store must have enough free pages.
  void keep(std::span<const Token> tokens, PagePool& store, uint32_t page_len);
  void forget(PagePool& store);
  // Adds copies of the kept pages to the first of `pages`.
  void copy_into(std::span<const PageId> pages, uint32_t page_len,
                 std::vector<PageCopy>& copies) const;

 private:
  std::vector<Token> tokens_;
  std::vector<PageId> pages_;
};

}  // namespace pando::lab
