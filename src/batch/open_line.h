// Open lines are under way in a batch.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ask/line.h"
#include "pando/batch.h"
#include "task/question_completions.h"
#include "task/scored_answer.h"

namespace pando {

// Why questions of a line have no answer.
struct Unanswered {
  Error error;
  bool skipped = false;                 // as asked
  std::optional<std::string> question;  // the first of them, where questions have ids
  size_t n_questions = 1;
};

struct OpenLine {
  std::unique_ptr<ask::Line> line;
  uint64_t number = 0;                 // in the input
  uint64_t hash = 0;                   // of its text
  uint64_t bytes_read = 0;             // of the input, with it
  uint64_t n_bytes = 0;                // its own
  size_t n_records = 0;                // that are not over
  std::vector<Unanswered> unanswered;  // not reported yet
  // How far a question is, which is asked of each part of the document.
  struct QuestionState {
    size_t n_over = 0;                               // parts of the document
    bool is_new = false;                             // answered in this run, for some part
    std::vector<std::vector<ScoredAnswer>> answers;  // [n] of these parts
  };
  std::vector<QuestionState> questions;  // each once for all parts
};

// Becomes one record of the journal: a question, or all of a line that has one answer.
struct OpenRecord {
  std::shared_ptr<OpenLine> of;
  size_t first = 0, n = 0;          // questions
  QuestionCompletions completions;  // of these
  size_t replica = 0;               // that answers it,
  double work = 0;                  // and what that is predicted to cost (dealer.h),
  uint64_t ticket = 0;              // under which the dealer counts it; 0: it was not dealt
  std::vector<size_t> requests;     // of the replica
  int n_open = 0;                   // completions to come
  std::optional<Error> error;
  bool is_begun = false;  // its requests are made
  bool over = false;
  AnswerRecord journal;
  std::string lines;  // of the output

  const ask::Question& question() const { return of->line->questions[first]; }
  std::span<const ask::Question> questions() const {
    return std::span(of->line->questions).subspan(first, n);
  }
  // Answers to write. Scored choices give one answer, however many requests they take.
  uint64_t n_answers() const {
    uint64_t sum = 0;
    for (const ask::Question& question : questions())
      sum += question.choices.empty()
                 ? static_cast<uint64_t>(std::max(question.request.sampling.n, 1))
                 : 1;
    return sum;
  }
};

}  // namespace pando
