#include "ask/usage.h"

#include "base/json.h"

namespace pando::ask {

UsageCounts::UsageCounts(std::span<const std::vector<Completion>> answers) {
  for (const std::vector<Completion>& of_prompt : answers) add(of_prompt);
}

void UsageCounts::add(std::span<const Completion> of_prompt) {
  if (of_prompt.empty()) return;
  n_prompt += static_cast<uint64_t>(of_prompt[0].prompt_tokens);
  n_cached += static_cast<uint64_t>(of_prompt[0].shared_tokens);
  for (const Completion& completion : of_prompt) n_generated += completion.tokens.size();
}

Json UsageCounts::json(bool cached) const {
  Json json = {{"prompt_tokens", n_prompt},
               {"completion_tokens", n_generated},
               {"total_tokens", n_prompt + n_generated}};
  if (cached) json["prompt_tokens_details"] = {{"cached_tokens", n_cached}};
  return json;
}

SharingCounts::SharingCounts(std::span<const std::vector<Completion>> completions) {
  add(completions);
}

void SharingCounts::add(std::span<const std::vector<Completion>> completions) {
  for (const std::vector<Completion>& of_prompt : completions)
    for (const Completion& completion : of_prompt) {
      n_prompt += static_cast<uint64_t>(completion.prompt_tokens);
      n_reused += static_cast<uint64_t>(completion.shared_tokens);
    }
}

Json SharingCounts::json() const {
  return {{"prompt_tokens", n_prompt}, {"computed", n_prompt - n_reused}, {"reused", n_reused}};
}

}  // namespace pando::ask
