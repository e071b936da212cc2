#include <chrono>
#include <istream>
#include <optional>

#include "base/counted.h"
#include "base/errors.h"
#include "batch/line_parser.h"
#include "pando/batch.h"

namespace pando {
namespace {

Result<std::vector<Completion>> answer_alone(Engine& engine, const ask::Line& line,
                                             const ask::Question& question) {
  Result<std::vector<Request>> requests = line.requests_of(engine.model(), question);
  if (!requests) return requests.error();
  std::vector<std::vector<Completion>> completions;
  for (Request& request : *requests) {
    Result<std::vector<Completion>> completion = engine.complete(std::move(request));
    if (!completion) return completion.error();
    completions.push_back(std::move(*completion));
  }
  return ask::answers_of(question, completions);
}

}  // namespace

Result<BatchVerification> verify_batch(Engine& engine, std::istream& input,
                                       const BatchOptions& options,
                                       const std::map<AnswerKey, uint64_t>& logits_hashes) {
  const auto start = std::chrono::steady_clock::now();
  BatchOptions with_hashes = options;
  with_hashes.defaults.logits_hash = true;
  LineParser parser(engine.model(), engine.options().context, with_hashes);
  RecordScanner scanner(input, options.format, options.task);
  BatchVerification result;
  uint64_t last_line = 0;
  for (auto next = logits_hashes.begin(); next != logits_hashes.end();) {
    const std::optional<InputRecord> record = scanner.next();
    if (!record)
      return io_error("the input ends after line {}, expected line {} as in the first run",
                      last_line, next->first.line);
    last_line = record->line;
    if (last_line < next->first.line && !parser.wants_names()) continue;
    const Result<std::unique_ptr<ask::Line>> line = parser.parse(*record);
    if (!line) return line.error();
    while (*line && next != logits_hashes.end() && next->first.line == last_line) {
      const size_t index = next->first.question;
      if (index >= (*line)->questions.size())
        return invalid_argument("line {} has {}, expected more than {} as in the first run",
                                last_line, counted((*line)->questions.size(), "questions"), index);
      const ask::Question& question = (*line)->questions[index];
      const Result<std::vector<Completion>> again = answer_alone(engine, **line, question);
      if (!again) return again.error();
      for (; next != logits_hashes.end() && next->first.line == last_line &&
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
