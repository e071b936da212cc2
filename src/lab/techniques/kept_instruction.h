// The instruction that all stacks begin with, whose keys and values later batches copy: IPPD 4.4.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cache/page_pool.h"
#include "kernel/kv_layout.h"
#include "lab/techniques/prompt_groups.h"
#include "pando/token.h"

namespace pando::lab {

class KeptInstruction {
 public:
  const std::vector<PageId>& pages() const { return pages_; }

  // Whether it begins all prompts, leaves each a token, and no row of it is wanted, of which the
  // first is at position `first_wanted`. Then `groups` are made to begin with it.
  bool take(std::span<const std::span<const Token>> prompts, PromptGroups& groups,
            uint32_t first_wanted) const;
  // Takes pages for these tokens, which are there.
  void keep(std::span<const Token> tokens, PagePool& store, uint32_t page_len);
  void forget(PagePool& store);
  // Into the first of these pages.
  void copy_into(std::span<const PageId> pages, uint32_t page_len,
                 std::vector<kernel::PageCopy>& copies) const;

 private:
  std::vector<Token> tokens_;
  std::vector<PageId> pages_;
};

}  // namespace pando::lab
