// Scores of answers against their references.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pando/values/result.h"

namespace pando {

// Scores of one answer, or means over answers; each in [0, 1].
struct Metrics {
  double exact_match = 0;  // by SQuAD's rules; for single letters as docs/batch.md says
  double token_f1 = 0;     // by the same rules
  double rouge_l = 0;      // F1 of the longest common subsequence of words
  // For answers chosen from given choices: 1 if the likeliest choice is a reference, text for text
  // but for white space around it, else 0.
  double choice_accuracy = 0;
  double choice_accuracy_norm = 0;  // the same for the likeliest choice per character
};

// The first four of these for an answer to a question with these references.
Metrics metrics_of(std::string_view answer, std::span<const std::string> references);

// Means over answers.
struct Scores : Metrics {
  uint64_t n = 0;          // answers with references
  uint64_t n_choices = 0;  // of these, answers that are one of given choices
  // Standard error of each mean, from the variance of the sample; 0 for one answer.
  Metrics standard_error;
};

// Scores of all answers, and of each group of them.
class ScoreTable {
 public:
  // `group` may be empty: none.
  void add(const Metrics& answer, bool is_choice, const std::string& group = {});
  Scores all() const { return mean(all_); }
  std::map<std::string, Scores> groups() const;

  // All that was added, as JSON and back. Errors: kBadFile.
  std::string to_json() const;
  static Result<ScoreTable> from_json(std::string_view json);

 private:
  struct Sums {
    uint64_t n = 0, n_choices = 0;
    Metrics values, squares;
  };
  static Scores mean(const Sums& sums);
  Sums all_;
  std::map<std::string, Sums> groups_;
};

}  // namespace pando
