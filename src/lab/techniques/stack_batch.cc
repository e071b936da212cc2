#include "lab/techniques/stack_batch.h"

#include <algorithm>

namespace pando::lab {

BatchSize batch_size(const PromptGroups& groups, size_t n_groups, uint32_t n_contexts,
                     std::span<const WaitingPrompt> batch, uint32_t page_len) {
  uint64_t longest = 0, most_questions = 0, longest_answer = 0, header = 0, n_questions = 0;
  for (size_t i = 0; i < n_groups; ++i) {
    if (i % n_contexts == 0) header = groups.instruction_len, n_questions = 0;
    const ContextGroup& group = groups.groups[i];
    header += group.context_len;
    for (const uint32_t prompt : group.prompts) {
      if (prompt >= batch.size()) continue;
      const auto n = static_cast<uint32_t>(batch[prompt].tokens.size());
      header += n - groups.instruction_len - group.context_len;
      longest_answer = std::max<uint64_t>(longest_answer, batch[prompt].longest - n);
      ++n_questions;
    }
    longest = std::max(longest, header);
    most_questions = std::max(most_questions, n_questions);
  }
  const uint64_t n_stacks = (n_groups + n_contexts - 1) / n_contexts;
  // Every pass adds as many cells to each stack as the largest of them has questions.
  const uint64_t n_cells = longest + longest_answer * most_questions;
  const uint64_t instruction = (groups.instruction_len + page_len - 1) / page_len;
  return {n_stacks, n_stacks * longest,
          n_stacks * ((n_cells + page_len - 1) / page_len) + instruction};
}

// A context's part of the time of a pass of answers, l contexts in a stack. The paper's A.2 counts
// bytes and operations of one context; that l is put in, and which of the two is waited for, is
// ours (B.3 tries numbers out): keys and values are read once for a stack, and each query meets all
// of them. In units of a KV head's channel.
uint32_t contexts_of_stack(const PromptGroups& groups,
                           std::span<const std::span<const Token>> prompts) {
  const auto n = static_cast<double>(groups.groups.size());
  const double instruction = groups.instruction_len;
  const double questions = static_cast<double>(prompts.size()) / n;
  double cells = 0;
  for (const ContextGroup& group : groups.groups) {
    cells += group.context_len / n;
    for (const uint32_t i : group.prompts)
      cells += (static_cast<double>(prompts[i].size()) - instruction - group.context_len) / n;
  }
  constexpr double kCellBytes = 4;   // a key and a value in f16
  constexpr double kPairOps = 4;     // of a query and a cell: two multiply-adds
  constexpr double kOpBytes = 0.1;   // that are read in the time of an operation
  constexpr double kQueryHeads = 2;  // of a KV head, as in qwen3-0.6b; more want smaller stacks
  uint32_t best = 1;
  double least = 0;
  for (uint32_t l = 1; l <= 8; ++l) {
    const double time =
        std::max(kCellBytes * (instruction / l + cells),
                 kOpBytes * kPairOps * questions * kQueryHeads * (instruction + l * cells));
    if (l > 1 && time >= least) continue;
    best = l;
    least = time;
  }
  return best;
}

}  // namespace pando::lab
