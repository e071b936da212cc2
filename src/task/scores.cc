#include "pando/scores.h"

#include "task/metrics.h"

namespace pando {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// Without SQuAD's rules, which take the letter A for an article.
bool is_one_of(std::string_view choice, std::span<const std::string> references) {
  for (const std::string& reference : references)
    if (trimmed(choice) == trimmed(reference)) return true;
  return false;
}

}  // namespace

void ScoreTable::add(std::string_view answer, std::span<const std::string> references,
                     bool is_choice, const std::string& group) {
  const double exact = exact_match(answer, references), f1 = token_f1(answer, references),
               rouge = rouge_l(answer, references);
  const auto add_to = [&](Scores& sums) {
    ++sums.n;
    sums.exact_match += exact;
    sums.token_f1 += f1;
    sums.rouge_l += rouge;
    if (!is_choice) return;
    ++sums.n_choices;
    sums.choice_accuracy += is_one_of(answer, references);
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
