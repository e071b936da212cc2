#include "lab/techniques/prompt_groups.h"

#include <algorithm>
#include <map>

#include "lab/techniques/level_cuts.h"

namespace pando::lab {
namespace {

uint32_t end_above(const Node* tip, const std::set<const Node*>& cuts, const Node** found) {
  for (const Node* node = tip; !node->is_root(); node = node->parent)
    if (cuts.contains(node)) return *found = node, node->end();
  return 0;
}

// Takes what all prompts share for one context if it is most of them: groups that share more (two
// questions that begin alike, or are equal) would then save less than a quarter of its rows.
bool is_one_context(std::span<const std::span<const Token>> prompts, std::span<Node* const> tips,
                    const std::set<const Node*>& contexts, uint32_t n_shared) {
  size_t sum = 0, n_saved = 0;
  for (const auto& prompt : prompts) sum += prompt.size();
  std::set<const Node*> found;
  for (const Node* tip : tips) {
    const Node* context = nullptr;
    const uint32_t end = end_above(tip, contexts, &context);
    if (context != nullptr && !found.insert(context).second) n_saved += end - n_shared;
  }
  const size_t n_again = size_t{n_shared} * (prompts.size() - 1), n_rows = sum - n_again;
  return 2 * size_t{n_shared} * prompts.size() >= sum && 4 * n_saved < n_rows;
}

}  // namespace

PromptGroups group_prompts(std::span<const std::span<const Token>> prompts) {
  PrefixTree tree([](Node&, Node&) {});
  std::vector<Node*> tips;
  for (const auto& prompt : prompts) tips.push_back(tree.acquire(0, prompt));
  const LevelCuts cuts = level_cuts(tips);
  uint32_t shared = 0, shortest = UINT32_MAX;
  for (const Node* node : cuts.instructions) shared = node->end();
  for (const auto& prompt : prompts)
    shortest = std::min(shortest, static_cast<uint32_t>(prompt.size()));

  PromptGroups result;
  const bool one_context = is_one_context(prompts, tips, cuts.contexts, shared);
  if (!one_context) result.instruction_len = std::min(shared, shortest - 1);
  std::map<const Node*, size_t> group_of;
  for (uint32_t i = 0; i < prompts.size(); ++i) {
    const Node* context = nullptr;
    const uint32_t end = one_context ? shared : end_above(tips[i], cuts.contexts, &context);
    const uint32_t len = end - std::min(end, result.instruction_len);
    size_t group = result.groups.size();
    if (context != nullptr || one_context)
      group = group_of.try_emplace(context, group).first->second;
    if (group == result.groups.size()) result.groups.push_back({len, {}});
    result.groups[group].prompts.push_back(i);
  }
  for (ContextGroup& group : result.groups)
    for (const uint32_t i : group.prompts)
      group.context_len = std::min(
          group.context_len, static_cast<uint32_t>(prompts[i].size()) - result.instruction_len - 1);
  return result;
}

}  // namespace pando::lab
