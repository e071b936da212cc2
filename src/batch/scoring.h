// Scores of answers; the answers about the parts of a document are one answer first.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ask/job.h"
#include "base/json.h"
#include "pando/batch.h"
#include "task/scored_answer.h"

namespace pando {

struct OpenLine;

// Reads the objects of a question's output lines, as JSON or as rows of a table have them.
Result<std::vector<ScoredAnswer>> scored_answers(std::span<const Json> objects,
                                                 const ask::Question& question);

class Scoring {
 public:
  Scoring(const BatchOptions& options, BatchSummary& summary)
      : options_(options), summary_(summary) {}

  // A question is over for the part that it is about: its n answers, of this run or of an earlier
  // one, or none where it failed. After the last part it counts, and is scored.
  void add(OpenLine& line, const ask::Question& question, std::vector<ScoredAnswer> answers,
           bool is_new);

 private:
  void score(const ask::Question& question, const ScoredAnswer& answer);

  const BatchOptions& options_;
  BatchSummary& summary_;
};

}  // namespace pando
