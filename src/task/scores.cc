#include "pando/scores.h"

#include "task/metrics.h"

namespace pando {

void ScoreTable::add(std::string_view answer, std::span<const std::string> references,
                     bool is_choice, const std::string& group) {
  const double exact = exact_match(answer, references), f1 = token_f1(answer, references),
               rouge = rouge_l(answer, references), right = accuracy(answer, references);
  const auto add_to = [&](Scores& sums) {
    ++sums.n;
    sums.exact_match += exact;
    sums.token_f1 += f1;
    sums.rouge_l += rouge;
    if (!is_choice) return;
    ++sums.n_choices;
    sums.choice_accuracy += right;
  };
  add_to(all_);
  if (!group.empty()) add_to(groups_[group]);
}

std::map<std::string, Scores> ScoreTable::groups() const {
  std::map<std::string, Scores> means;
  for (const auto& [name, sums] : groups_) means.emplace(name, mean(sums));
  return means;
}

Scores ScoreTable::mean(Scores sums) {
  const double n = static_cast<double>(sums.n), n_choices = static_cast<double>(sums.n_choices);
  if (sums.n > 0) {
    sums.exact_match /= n;
    sums.token_f1 /= n;
    sums.rouge_l /= n;
  }
  if (sums.n_choices > 0) sums.choice_accuracy /= n_choices;
  return sums;
}

}  // namespace pando
