// A job is what a line, a body of the HTTP API or a call of the C functions asks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "pando/answer.h"
#include "pando/classify.h"

namespace pando::ask {

// A text or a pair of texts that a classifier reads.
struct ClassifiedText {
  ClassifyOptions options;
  std::string first;
  std::optional<std::string> second;
};

// One thing that is asked: a question about the job's context, a prompt, a text to be embedded, or
// continuations to be scored. With choices, the answer is the likeliest of these behind the prompt.
struct Question {
  size_t index = 0;                          // in its job
  std::optional<std::string> id;             // nothing where its job has one prompt
  Json id_json;                              // as it stood in the input, for the output
  std::string text;                          // of the question
  size_t part = 0;                           // of the job's contexts, the one it is about
  Request request;                           // without the prompt where the job has a context
  std::optional<ClassifiedText> classified;  // instead of a prompt
  std::vector<std::string> choices;
  bool as_given = false;              // choices stand behind the prompt just as they are, and
  std::vector<std::string> prefixes;  // if given, each behind its own prompt
  bool of_pairs = false;              // choices and prompts were the pairs of 'arguments'
  bool choices_differ = false;        // choices of equal tokens are an error
  int most_tokens = 0;                // a longer prompt is cut before kept_end; 0: no limit
  std::string kept_end;               // end of the prompt that stays
  std::optional<std::vector<std::string>> answers;  // reference answers, where given
  Json metadata;                                    // passed through: the job's and its own
  std::string cut;  // says how its own prompt was made to fit; empty: it did
};

// The answers to a question, n of it, from the completions of its requests.
std::vector<Completion> answers_of(const Question& question,
                                   std::span<std::vector<Completion>> completions);

// Holds what is asked together. How it is read and how its answers are written is up to Line and
// Body.
class Job {
 public:
  virtual ~Job() = default;

  std::string id;
  Json id_json;                       // as it stood in the input, for the output
  std::vector<std::string> contexts;  // none, one, or its parts
  AnswerOptions options;              // of questions about them
  std::vector<Question> questions;
  std::string cut;      // says how it, or one of its prompts, was made to fit
  std::string warning;  // SharingInfo::warning of the engine that answers

  // The prompt of a question, and what is wanted of it.
  Request request_of(const Question& question) const;
  // Asks the engine for it: the request itself, or those that score its choices. Errors: as
  // choice_requests and continuation_requests; kInvalidArgument for equal choices where they must
  // differ.
  Result<std::vector<Request>> requests_of(const Model& model, const Question& question) const;
};

}  // namespace pando::ask
