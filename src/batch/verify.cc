#include <chrono>
#include <istream>

#include "base/errors.h"
#include "batch/input_line.h"
#include "pando/batch.h"
#include "task/choices.h"

namespace pando {
namespace {

Result<std::vector<Completion>> answer_alone(Engine& engine, const BatchQuestion& question) {
  if (question.choices.empty()) return engine.complete(question.request);
  Result<std::vector<Request>> requests =
      choice_requests(engine.model(), question.request, question.choices);
  if (!requests) return requests.error();
  std::vector<Completion> scored;
  for (Request& request : *requests) {
    Result<std::vector<Completion>> completion = engine.complete(std::move(request));
    if (!completion) return completion.error();
    scored.push_back(std::move((*completion)[0]));
  }
  return std::vector<Completion>{likeliest_choice(question.choices, scored)};
}

}  // namespace

Result<BatchVerification> verify_batch(Engine& engine, std::istream& input,
                                       const AnswerOptions& defaults,
                                       const std::map<AnswerKey, uint64_t>& logits_hashes) {
  const auto start = std::chrono::steady_clock::now();
  AnswerOptions options = defaults;
  options.logits_hash = true;
  BatchVerification result;
  std::string text;
  uint64_t line_number = 0;
  for (auto next = logits_hashes.begin(); next != logits_hashes.end();) {
    if (!std::getline(input, text))
      return io_error("the input ends after line {}, expected line {} as before", line_number,
                      next->first.line);
    if (++line_number < next->first.line) continue;
    const Result<BatchLine> line = parse_line(text, line_number, options);
    if (!line) return line.error();
    while (next != logits_hashes.end() && next->first.line == line_number) {
      const size_t index = next->first.question;
      if (index >= line->questions.size())
        return invalid_argument("line {} has {} questions, expected more than {} as before",
                                line_number, line->questions.size(), index);
      const BatchQuestion& question = line->questions[index];
      const Result<std::vector<Completion>> again = answer_alone(engine, question);
      if (!again) return again.error();
      for (; next != logits_hashes.end() && next->first.line == line_number &&
             next->first.question == index;
           ++next) {
        ++result.answers;
        const size_t choice = static_cast<size_t>(next->first.choice);
        if (choice >= again->size() || (*again)[choice].logits_hash != next->second)
          result.different.push_back(question.request.id);
      }
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pando
