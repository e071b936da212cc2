#include "ask/job.h"

#include <iterator>
#include <utility>

#include "base/errors.h"
#include "pando/rerank.h"
#include "pando/score.h"
#include "task/choices.h"

namespace pando::ask {
namespace {

// An error of continuations [begin, begin + n) of a question that was given as pairs, by the pair.
Error in_pair(size_t begin, size_t n, Error error) {
  for (size_t i = 0; i < n; ++i)
    if (error.place.field == place_in("continuations", i))
      return blame(place_in("arguments", begin + i),
                   invalid_argument("field 'arguments' has in pair {} a continuation that adds no "
                                    "token after the prompt, expected at least one",
                                    begin + i));
  if (n == 1 && error.code == ErrorCode::kInvalidArgument)
    return blame(place_in("arguments", begin), in_file(place_in("arguments", begin), error));
  return error;
}

// Scores choices that stand behind the prompt just as they are.
Result<std::vector<Request>> scoring_requests(const Model& model, const Question& question) {
  std::vector<Request> requests;
  const size_t n_at_once = question.prefixes.empty() ? question.choices.size() : 1;
  for (size_t i = 0; i < question.choices.size(); i += n_at_once) {
    const std::string& prompt =
        question.prefixes.empty() ? question.request.prompt : question.prefixes[i];
    auto scoring =
        continuation_requests(model, prompt, std::span(question.choices).subspan(i, n_at_once));
    if (!scoring)
      return question.of_pairs ? in_pair(i, n_at_once, scoring.error()) : scoring.error();
    std::move(scoring->begin(), scoring->end(), std::back_inserter(requests));
  }
  if (question.choices_differ && requests[0].tokens == requests[1].tokens)
    return invalid_argument(
        "the answers '{}' and '{}' have the same tokens, expected two answers with different "
        "tokens",
        question.choices[0], question.choices[1]);
  if (Status status = fit_pair(model, question.most_tokens, question.kept_end, requests); !status)
    return status.error();
  requests = joined(std::move(requests));
  for (Request& request : requests) {
    request.id = question.request.id;
    request.logits_hash = question.request.logits_hash;
  }
  return requests;
}

Result<std::vector<Request>> classifying_requests(const Model& model, const Question& question) {
  const ClassifiedText& text = *question.classified;
  Result<Request> request = classify_request(model, text.options, text.first, text.second);
  if (!request) return request.error();
  request->id = question.request.id;
  request->logits_hash = question.request.logits_hash;
  return std::vector{std::move(*request)};
}

}  // namespace

Request Job::request_of(const Question& question) const {
  if (contexts.empty()) return question.request;
  Request request = question_request(options, contexts[question.part], question.text);
  request.id = question.request.id;
  request.truncate_prompt_tokens = question.request.truncate_prompt_tokens;
  request.sampling.form = question.request.sampling.form;
  request.calling = question.request.calling;
  request.thinking_budget = question.request.thinking_budget;
  return request;
}

Result<std::vector<Request>> Job::requests_of(const Model& model, const Question& question) const {
  if (question.classified) return classifying_requests(model, question);
  if (question.choices.empty()) return std::vector{request_of(question)};
  if (question.as_given) return scoring_requests(model, question);
  return choice_requests(model, request_of(question), question.choices);
}

std::vector<Completion> answers_of(const Question& question,
                                   std::span<std::vector<Completion>> completions) {
  if (question.choices.empty()) return std::move(completions[0]);
  return {likeliest_choice(question.choices, completions)};
}

}  // namespace pando::ask
