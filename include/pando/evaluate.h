// Scores answers that were written before, against references beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pando/batch.h"

namespace pando {

// "exact_match", "token_f1", "rouge_l", "accuracy", "number" and "regex", as docs/batch.md defines
// them.
std::span<const std::string_view> metric_names();

// Fields are names, or paths such as "metadata.subject" and "choices.0.text"; a name with points in
// it goes before a path. A field that a line lacks is looked for in its metadata.
struct EvaluateOptions {
  InputFormat format = InputFormat::kJsonLines;
  std::vector<std::string> metrics = {"exact_match", "token_f1", "rouge_l"};
  std::vector<std::string> score_fields;  // fields with scores: a number in [0, 1], true or false
  std::string answer = "text";
  std::string reference = "answers";  // a text or a list of texts; a line without it has no score
  // Lines with the same value of this field are answers to one question; a line without it is bad,
  // and so is one with another reference than the first. Empty: lines with the same id and
  // question_id, until a choice comes again.
  std::string question;
  std::string by;         // estimates also for each value of this field; empty: none
  std::string cluster;    // questions with the same value are one cluster of the standard error
  std::string extract;    // expression whose last match in an answer is scored; empty: all of it
  bool majority = false;  // also the score of the most frequent answer to each question
  std::vector<uint64_t> pass_at;  // also pass@k for these k; an answer is right if its score is 1
  std::function<void(const std::string& message)> on_problem;  // of a line that is left out
};

// One mean over questions.
struct EvaluatedScore {
  std::string metric;     // or the field with the score
  std::string statistic;  // "mean", "majority" or "pass@k"
  std::string group;      // value of `by`; empty: all
  uint64_t questions = 0;
  double value = 0, standard_error = 0;  // the latter 0 where it cannot be estimated
};

struct Evaluation {
  uint64_t lines = 0, bad_lines = 0;
  uint64_t answers = 0, questions = 0;  // scored
  uint64_t without_reference = 0;       // answers
  std::vector<EvaluatedScore> scores;   // all, then groups in the order of their names
};

// Reads `input` to its end; memory grows with it. Answers about parts of a document (`part`) are
// one answer, as for a run. A question counts by the mean of its answers' scores. Errors:
// kInvalidArgument for options and for an input where no line has the fields; kBadFile for an input
// of another kind.
Result<Evaluation> evaluate(std::istream& input, const EvaluateOptions& options);

}  // namespace pando
