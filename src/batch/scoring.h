// Scores of answers; the answers about the parts of a document are one answer first.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "batch/input_line.h"
#include "pando/batch.h"

namespace pando {

struct OpenLine;

// What is scored of an answer.
struct ScoredAnswer {
  size_t part = 0;  // of the document, that it is about
  std::string text;
  std::vector<double> choice_logprobs;  // [choices], where it is one of them
};

// The answers about parts of a document, as one: of choices the one that is likeliest behind any
// part; of others the different texts, in the order of the parts, one a line.
ScoredAnswer merged(std::vector<ScoredAnswer> of_parts, std::span<const std::string> choices);

// How well it matches the question's references, which it has.
Metrics metrics_of(const ScoredAnswer& answer, const BatchQuestion& question);

// Of the objects of a question's output lines, as JSON or as rows of a table have them.
Result<std::vector<ScoredAnswer>> scored_answers(std::span<const nlohmann::json> objects,
                                                 const BatchQuestion& question);

class Scoring {
 public:
  Scoring(const BatchOptions& options, BatchSummary& summary)
      : options_(options), summary_(summary) {}

  // A question is over for the part that it is about: its n answers, of this run or of an earlier
  // one, or none where it failed. After the last part it counts, and is scored.
  void add(OpenLine& line, const BatchQuestion& question, std::vector<ScoredAnswer> answers,
           bool is_new);

 private:
  void score(const BatchQuestion& question, const ScoredAnswer& answer);

  const BatchOptions& options_;
  BatchSummary& summary_;
};

}  // namespace pando
