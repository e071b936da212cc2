// How well answers match their references.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace pando {

// Means over answers, each in [0, 1].
struct Scores {
  uint64_t n = 0;          // answers with references
  double exact_match = 0;  // by SQuAD's rules; of letters as docs/batch.md says
  double token_f1 = 0;     // by the same
  double rouge_l = 0;      // F1 of the longest common subsequence of words
  uint64_t n_choices = 0;  // of these, answers that are one of given choices
  // Of these, those that are a reference, text for text but for white space around it.
  double choice_accuracy = 0;
};

// Scores of all answers, and of each group of them.
class ScoreTable {
 public:
  // `group` may be empty: none.
  void add(std::string_view answer, std::span<const std::string> references, bool is_choice,
           const std::string& group = {});
  Scores all() const { return mean(all_); }
  std::map<std::string, Scores> groups() const;

 private:
  static Scores mean(Scores sums);
  Scores all_;
  std::map<std::string, Scores> groups_;
};

}  // namespace pando
