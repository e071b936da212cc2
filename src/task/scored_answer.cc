#include "task/scored_answer.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "task/choices.h"

namespace pando {

ScoredAnswer merged(std::vector<ScoredAnswer> of_parts, std::span<const std::string> choices) {
  if (of_parts.size() == 1) return std::move(of_parts[0]);
  std::ranges::sort(of_parts, {}, &ScoredAnswer::part);
  ScoredAnswer one;
  std::vector<std::string_view> texts;
  for (const ScoredAnswer& answer : of_parts) {
    one.choice_logprobs.resize(answer.choice_logprobs.size(), -HUGE_VAL);
    for (size_t i = 0; i < answer.choice_logprobs.size(); ++i)
      one.choice_logprobs[i] = std::max(one.choice_logprobs[i], answer.choice_logprobs[i]);
    if (std::ranges::count(texts, answer.text) == 0) texts.push_back(answer.text);
  }
  if (!one.choice_logprobs.empty()) {
    one.text = choices[likeliest(one.choice_logprobs)];
    return one;
  }
  for (const std::string_view text : texts)
    one.text.append(one.text.empty() ? "" : "\n").append(text);
  return one;
}

Metrics metrics_of(const ScoredAnswer& answer, std::span<const std::string> choices,
                   std::span<const std::string> references) {
  Metrics metrics = metrics_of(answer.text, references);
  if (choices.size() != answer.choice_logprobs.size() || choices.empty()) return metrics;
  const std::string& best =
      choices[likeliest_per(Per::kCharacter, choices, answer.choice_logprobs)];
  metrics.choice_accuracy_norm = metrics_of(best, references).choice_accuracy;
  return metrics;
}

}  // namespace pando
