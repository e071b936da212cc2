#include "batch/results.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "batch/too_long.h"

namespace pando {
namespace {

// The objects that output lines are.
Result<std::vector<Json>> output_objects(std::string_view lines) {
  std::vector<Json> objects;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size() - 1);
    Result<Json> line = parse_json_object(lines.substr(0, end), "an answer");
    if (!line) return line.error();
    objects.push_back(std::move(*line));
    lines.remove_prefix(end + 1);
  }
  return objects;
}

// How many answers in these did not come to their end. A line of an OpenAI batch has a list of
// them.
uint64_t n_cut(const std::vector<Json>& objects) {
  const auto is_cut = [](const Json& answer) {
    if (!answer.is_object()) return false;
    const auto reason = answer.find("finish_reason");
    if (reason == answer.end() || !reason->is_string()) return false;
    const auto& text = reason->get_ref<const std::string&>();
    return text == "length" || text == "context";
  };
  static const Json::json_pointer kChoices("/response/body/choices");
  uint64_t n = 0;
  for (const Json& object : objects) {
    if (is_cut(object)) ++n;
    if (object.contains(kChoices) && object[kChoices].is_array())
      n += std::ranges::count_if(object[kChoices], is_cut);
  }
  return n;
}

}  // namespace

void Results::take_line(const ask::Line& line) {
  if (std::exchange(has_first_line_, true) || !table_) return;
  const auto has_choices = [](const ask::Question& question) { return !question.choices.empty(); };
  table_->take_choices(options_, std::ranges::any_of(line.questions, has_choices));
}

void Results::take(const std::shared_ptr<OpenRecord>& record) {
  if (options_.ordered) in_order_.push_back(record);
}

void Results::end(OpenRecord& record) {
  record.over = true;
  if (record.error) add_problem(record);
  std::vector<std::vector<Completion>> answers;  // [questions][n]
  for (size_t i = 0; i < record.n && !record.error; ++i)
    answers.push_back(answers_of(record.questions()[i], record.completions.of(i)));
  const std::vector<Json> objects = record.of->line->written(
      {.question = record.n > 0 ? &record.question() : nullptr,
       .answers = answers,
       .completions = record.completions.all(),
       .error = record.error ? &*record.error : nullptr},
      {.model = model_, .options = options_, .created = output_.created()});
  for (const Json& object : objects)
    record.lines += table_ ? table_->rows(object) : json_text(object) + "\n";
  for (size_t i = 0; i < answers.size(); ++i) note(record, record.questions()[i], answers[i]);
  if (record.error)
    for (const ask::Question& question : record.questions())
      scoring_.add(*record.of, question, {}, /*is_new=*/true);
  record.completions = {};
  summary_.combined_hash += record.journal.logits_hash;
  if (!options_.ordered) return write(record);
  if (n_held_.size() <= record.replica) n_held_.resize(record.replica + 1);
  ++n_held_[record.replica];
  write_in_order();
}

void Results::take_back(const std::vector<std::shared_ptr<OpenRecord>>& records) {
  for (const std::shared_ptr<OpenRecord>& record : records) record->over = true;
  const std::set<std::shared_ptr<OpenRecord>> gone(records.begin(), records.end());
  std::erase_if(in_order_, [&](const auto& record) { return gone.contains(record); });
  write_in_order();
}

void Results::write_in_order() {
  for (; !in_order_.empty() && in_order_.front()->over; in_order_.pop_front()) {
    write(*in_order_.front());
    --n_held_[in_order_.front()->replica];
  }
}

void Results::write(OpenRecord& record) {
  if (--record.of->n_records == 0) {
    bytes_done_ = std::max(bytes_done_, record.of->bytes_read);
    const std::shared_ptr<OpenLine> line = record.of;
    report(*line);
  }
  if (record.lines.empty()) return;
  if (table_ && !std::exchange(has_header_, true) && output_.n_records() == 0)
    record.lines = table_->header() + record.lines;
  output_.append(record.journal, record.lines);
  record.lines = {};
}

Status Results::take_earlier(const OpenRecord& record, const AnswerRecord& found) {
  ++n_earlier_;
  summary_.earlier += static_cast<uint64_t>(found.n_answers);
  if (found.n_answers == 0)  // an OpenAI line that was refused
    ++(found.skipped ? summary_.skipped : summary_.failed);
  summary_.combined_hash += found.logits_hash;
  if (record.n == 0) return {};
  const bool has_form = record.question().request.sampling.form.has_value();
  if (!record.question().answers)
    for (const ask::Question& question : record.questions())
      scoring_.add(*record.of, question, {}, /*is_new=*/false);
  if (!record.question().answers && !has_form) return {};
  const Result<std::string> lines = output_.read(found);
  if (!lines) return lines.error();
  const Result<std::vector<Json>> objects =
      table_ ? table_->objects(*lines) : output_objects(*lines);
  if (!objects) return objects.error();
  if (has_form) summary_.forms_cut += n_cut(*objects);
  if (!record.question().answers) return {};
  Result<std::vector<ScoredAnswer>> answers = scored_answers(*objects, record.question());
  if (!answers) return answers.error();
  scoring_.add(*record.of, record.question(), std::move(*answers), /*is_new=*/false);
  return {};
}

// Problems of one line's questions are said together: of many prompts that are too long the first.
void Results::add_problem(OpenRecord& record) {
  const bool too_long = record.error->code == ErrorCode::kTooLong;
  const bool skipped = too_long && options_.too_long == TooLong::kSkip;
  ++(skipped ? summary_.skipped : summary_.failed);
  summary_.too_long += too_long && !skipped;
  record.journal.skipped = skipped;
  const std::optional<std::string> question =
      record.of->line->answers_apart() ? record.question().id : std::nullopt;
  if (options_.on_failure)
    return options_.on_failure({record.of->number, question, *record.error});
  std::vector<Unanswered>& unanswered = record.of->unanswered;
  if (unanswered.empty()) with_problems_.push_back(record.of);
  for (Unanswered& problem : unanswered) {
    const bool same = problem.error.code == record.error->code &&
                      (problem.error.code == ErrorCode::kTooLong ||
                       problem.error.message() == record.error->message());
    if (same) return void(++problem.n_questions);
  }
  unanswered.push_back({*record.error, skipped, question});
}

void Results::report(OpenLine& line) {
  if (line.unanswered.empty()) return;
  for (const Unanswered& found : line.unanswered) {
    const std::string first = found.question.value_or("");
    const std::string whose =
        found.n_questions > 1 ? fmt::format(", {} questions, first '{}'", found.n_questions, first)
        : found.question      ? fmt::format(", question '{}'", first)
                              : "";
    problem(line.number, fmt::format("{}: {}{}", whose, found.skipped ? "skipped: " : "",
                                     found.error.message()));
  }
  line.unanswered.clear();
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

void Results::bad_line(uint64_t line, const Error& error) const {
  if (options_.on_failure) return options_.on_failure({line, std::nullopt, error});
  problem(line, ": " + error.message());
}

void Results::note(OpenRecord& record, const ask::Question& question,
                   const std::vector<Completion>& answers) {
  std::vector<ScoredAnswer> scored;
  for (const Completion& completion : answers) {
    ++summary_.answers;
    summary_.prompt_tokens += static_cast<uint64_t>(completion.prompt_tokens);
    record.of->line->count(completion, summary_);
    const bool is_cut_by_files =
        question.request.pooling != Pooling::kNone || question.most_tokens > 0;
    if (completion.cut_tokens > 0 && is_cut_by_files) {
      ++summary_.cut;
      problem(record.of->number,
              ": " + cut_message(completion.prompt_tokens, completion.cut_tokens));
    }
    ++record.journal.n_answers;
    summary_.forms_cut += question.request.sampling.form.has_value() &&
                          completion.finish_reason != FinishReason::kStop;
    scored.push_back({question.part, completion.text, completion.choice_logprobs});
    if (question.request.logits_hash) {
      const std::string name = fmt::format("{}#{}", question.request.id, completion.choice);
      record.journal.logits_hash +=
          XXH3_64bits_withSeed(name.data(), name.size(), completion.logits_hash);
    }
    if (options_.on_answer)
      options_.on_answer({{record.of->number, question.index, completion.choice},
                          question.request.id,
                          question.text,
                          completion});
  }
  scoring_.add(*record.of, question, std::move(scored), /*is_new=*/true);
}

}  // namespace pando
