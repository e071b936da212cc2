#include "lab/techniques/kept_instruction.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace pando::lab {

bool KeptInstruction::take(std::span<const std::span<const Token>> prompts, PromptGroups& groups,
                           uint32_t first_wanted) const {
  const auto n = static_cast<uint32_t>(tokens_.size());
  if (n == 0 || first_wanted < n) return false;
  for (const auto& prompt : prompts)
    if (prompt.size() <= n || !std::equal(tokens_.begin(), tokens_.end(), prompt.begin()))
      return false;
  const uint32_t old = groups.instruction_len;
  groups.instruction_len = n;
  for (ContextGroup& group : groups.groups) {
    const uint32_t end = std::max(old + group.context_len, n);
    group.context_len = end - n;
    for (const uint32_t i : group.prompts)
      group.context_len =
          std::min(group.context_len, static_cast<uint32_t>(prompts[i].size()) - n - 1);
  }
  return true;
}

void KeptInstruction::keep(std::span<const Token> tokens, PagePool& store, uint32_t page_len) {
  tokens_.assign(tokens.begin(), tokens.end());
  for (size_t i = 0; i * page_len < tokens.size(); ++i) {
    const std::optional<PageId> page = store.allocate();
    PANDO_CHECK(page.has_value());
    pages_.push_back(*page);
  }
}

void KeptInstruction::forget(PagePool& store) {
  for (const PageId page : pages_) store.release(page);
  pages_.clear();
  tokens_.clear();
}

void KeptInstruction::copy_into(std::span<const PageId> pages, uint32_t page_len,
                                std::vector<PageCopy>& copies) const {
  const auto n = static_cast<uint32_t>(tokens_.size());
  for (uint32_t i = 0; i * page_len < n; ++i)
    copies.push_back({pages_[i], pages[i], std::min(page_len, n - i * page_len)});
}

}  // namespace pando::lab
