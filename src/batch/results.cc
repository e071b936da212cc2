#include "batch/results.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "batch/openai_line.h"
#include "batch/output_line.h"
#include "batch/task_lines.h"

namespace pando {

void Results::begin(const std::shared_ptr<Unit>& unit) {
  if (options_.ordered) in_order_.push_back(unit);
}

void Results::end(Unit& unit) {
  unit.over = true;
  if (unit.error) add_problem(unit);
  std::vector<std::vector<Completion>> answers;  // [questions][n]
  for (size_t i = 0, first = 0; i < unit.n && !unit.error; ++i) {
    const auto completions = std::span(unit.completions).subspan(first, unit.n_requests[i]);
    answers.push_back(answers_of(unit.questions()[i], completions));
    first += completions.size();
  }
  unit.lines = lines_of(unit, answers);
  if (table_) unit.lines = table_->rows(unit.lines);
  for (size_t i = 0; i < answers.size(); ++i) note(unit, unit.questions()[i], answers[i]);
  if (unit.error)
    for (const BatchQuestion& question : unit.questions())
      scoring_.add(*unit.of, question, {}, /*is_new=*/true);
  unit.completions = {};
  summary_.combined_hash += unit.record.logits_hash;
  if (!options_.ordered) return write(unit);
  ++n_held_;
  write_in_order();
}

std::string Results::lines_of(const Unit& unit,
                              const std::vector<std::vector<Completion>>& answers) const {
  const BatchLine& line = unit.of->line;
  if (line.form == LineForm::kOpenAi)
    return openai_output(line, answers, unit.error, output_.created(), model_) + "\n";
  std::string lines;
  if (unit.error) return lines;
  if (line.form == LineForm::kEmbed)
    return embed_output(line, answers[0][0], options_.embed) + "\n";
  if (line.form == LineForm::kRerank) return rerank_output(line, answers, options_.top) + "\n";
  if (line.form == LineForm::kScore) return score_output(line, unit.completions) + "\n";
  for (const Completion& completion : answers[0]) {
    nlohmann::ordered_json object = output_object(line, unit.question(), completion, model_);
    add_fields(options_.with, line, unit.question(), completion, model_, object);
    lines += written(object) + "\n";
  }
  return lines;
}

void Results::take_back(Unit& unit) {
  unit.over = true;
  std::erase_if(in_order_, [&](const auto& other) { return other.get() == &unit; });
  write_in_order();
}

void Results::write_in_order() {
  for (; !in_order_.empty() && in_order_.front()->over; in_order_.pop_front()) {
    write(*in_order_.front());
    --n_held_;
  }
}

void Results::write(Unit& unit) {
  if (--unit.of->n_units == 0) {
    bytes_done_ = std::max(bytes_done_, unit.of->bytes_read);
    const std::shared_ptr<OpenLine> line = unit.of;
    report(*line);
  }
  if (unit.lines.empty()) return;
  if (table_ && !std::exchange(has_header_, true) && output_.n_records() == 0)
    unit.lines = table_->header() + unit.lines;
  output_.append(unit.record, unit.lines);
  unit.lines = {};
}

Status Results::take_earlier(const Unit& unit, const AnswerRecord& record) {
  ++n_earlier_;
  summary_.earlier += static_cast<uint64_t>(record.n_answers);
  if (record.n_answers == 0)  // an OpenAI line that was refused
    ++(record.skipped ? summary_.skipped : summary_.failed);
  summary_.combined_hash += record.logits_hash;
  if (unit.n == 0) return {};
  if (!unit.question().answers) {
    for (const BatchQuestion& question : unit.questions())
      scoring_.add(*unit.of, question, {}, /*is_new=*/false);
    return {};
  }
  const Result<std::string> lines = output_.read(record);
  if (!lines) return lines.error();
  const Result<std::vector<nlohmann::json>> objects =
      table_ ? table_->objects(*lines) : output_objects(*lines);
  if (!objects) return objects.error();
  Result<std::vector<ScoredAnswer>> answers = scored_answers(*objects, unit.question());
  if (!answers) return answers.error();
  scoring_.add(*unit.of, unit.question(), std::move(*answers), /*is_new=*/false);
  return {};
}

// Those of one line's questions are said together: of many prompts that are too long the first.
void Results::add_problem(Unit& unit) {
  const bool too_long = unit.error->code == ErrorCode::kTooLong;
  const bool skipped = too_long && options_.too_long == TooLong::kSkip;
  ++(skipped ? summary_.skipped : summary_.failed);
  summary_.too_long += too_long && !skipped;
  unit.record.skipped = skipped;
  std::vector<Problem>& problems = unit.of->problems;
  if (problems.empty()) with_problems_.push_back(unit.of);
  for (Problem& problem : problems) {
    const bool same =
        problem.error.code == unit.error->code &&
        (problem.error.code == ErrorCode::kTooLong || problem.error.message == unit.error->message);
    if (same) return void(++problem.n_questions);
  }
  problems.push_back({*unit.error, skipped,
                      unit.of->line.form == LineForm::kNative ? unit.question().id
                                                              : std::optional<std::string>()});
}

void Results::report(OpenLine& line) {
  if (line.problems.empty()) return;
  for (const Problem& found : line.problems) {
    const std::string first = found.question.value_or("");
    const std::string whose =
        found.n_questions > 1 ? fmt::format(", {} questions, '{}' first", found.n_questions, first)
        : found.question      ? fmt::format(", question '{}'", first)
                              : "";
    problem(line.number,
            fmt::format("{}: {}{}", whose, found.skipped ? "left out: " : "", found.error.message));
  }
  line.problems.clear();
  std::erase_if(with_problems_, [&](const auto& other) { return other.get() == &line; });
}

void Results::report_rest() {
  while (!with_problems_.empty()) {
    const std::shared_ptr<OpenLine> line = with_problems_.front();
    report(*line);
  }
}

void Results::problem(uint64_t line, const std::string& message) const {
  if (options_.on_problem) options_.on_problem(fmt::format("{} {}{}", place_, line, message));
}

void Results::note(Unit& unit, const BatchQuestion& question,
                   const std::vector<Completion>& answers) {
  std::vector<ScoredAnswer> scored;
  for (const Completion& completion : answers) {
    ++summary_.answers;
    if (unit.of->line.form == LineForm::kRerank) {
      const double mass = mass_of_answers(completion.choice_logprobs);
      summary_.mass_sum += mass;
      summary_.least_mass = std::min(summary_.least_mass, mass);
    }
    ++unit.record.n_answers;
    scored.push_back({question.part, completion.text, completion.choice_logprobs});
    if (question.request.logits_hash) {
      const std::string name = fmt::format("{}#{}", question.request.id, completion.choice);
      unit.record.logits_hash +=
          XXH3_64bits_withSeed(name.data(), name.size(), completion.logits_hash);
    }
    if (options_.on_answer)
      options_.on_answer({{unit.of->number, question.index, completion.choice},
                          question.request.id,
                          question.text,
                          completion});
  }
  scoring_.add(*unit.of, question, std::move(scored), /*is_new=*/true);
}

}  // namespace pando
