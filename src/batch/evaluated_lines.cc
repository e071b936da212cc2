#include "batch/evaluated_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "ask/input_table.h"
#include "base/errors.h"
#include "batch/line_fields.h"
#include "task/scored_answer.h"
#include "text/utf8.h"

namespace pando {
namespace {

using References = std::vector<std::string>;

bool is_absent(const Json& value) { return value.is_null() || is_text(value, ""); }

// A whole number of a line, or of its cell.
Result<uint64_t> number_of(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end() || is_absent(*found)) return 0;
  Json value = *found;
  if (found->is_string()) {
    Result<Json> parsed = parse_json(found->get_ref<const std::string&>());
    if (parsed) value = std::move(*parsed);
  }
  if (!is_whole(value) || value.get<double>() < 0)
    return invalid_field(name, "is {}, expected a whole number from 0 on", found_text(*found));
  return value.get<uint64_t>();
}

// The largest of the log-probabilities of the choices; nothing for an answer that was generated.
std::optional<double> best_logprob(const Json& line) {
  const Json logprobs = field_of(line, "choice_logprobs");
  Json list = logprobs;
  if (logprobs.is_string())
    if (Result<Json> parsed = parse_json(logprobs.get_ref<const std::string&>()))
      list = std::move(*parsed);
  if (!list.is_array() || list.empty()) return std::nullopt;
  double best = -HUGE_VAL;
  for (const Json& value : list)
    if (value.is_number()) best = std::max(best, value.get<double>());
  return best;
}

// A number in [0, 1], or true or false, also as a text.
Result<double> score_of(const Json& line, const std::string& field) {
  const Json found = field_of(line, field);
  Json value = found;
  if (found.is_string())
    if (Result<Json> parsed = parse_json(found.get_ref<const std::string&>()))
      value = std::move(*parsed);
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  const double score = value.is_number() ? value.get<double>() : -1;
  if (score >= 0 && score <= 1) return score;
  return invalid_field(field, "is {}, expected a number from 0 to 1, true or false",
                       found_text(found));
}

}  // namespace

Result<EvaluatedLines> EvaluatedLines::open(const EvaluateOptions& options) {
  EvaluatedLines lines(options);
  if (options.extract.empty()) return lines;
  Result<std::shared_ptr<const Matcher>> matcher = make_oniguruma_matcher(options.extract);
  if (!matcher) return with_code(ErrorCode::kInvalidArgument, matcher.error());
  lines.extract_ = std::move(*matcher);
  return lines;
}

Result<Json> EvaluatedLines::object_of(const InputRecord& record) {
  if (options_.format == InputFormat::kJsonLines) {
    Result<Json> json = parse_json(record.text);
    if (json && !json->is_object())
      return invalid_argument("{}, expected an object", found_text(*json));
    return json;
  }
  if (find_invalid_utf8(record.text)) return invalid_argument("the row is not valid UTF-8");
  const Result<std::vector<std::string>> cells =
      ask::split_row(record.text, options_.format == InputFormat::kCsv ? ',' : '\t');
  if (!cells) return cells.error();
  if (columns_.empty()) {
    columns_ = *cells;
    return Json();
  }
  if (cells->size() != columns_.size())
    return invalid_argument("{} cells, expected {}", cells->size(), columns_.size());
  Json object = Json::object();
  for (size_t i = 0; i < cells->size(); ++i) object[columns_[i]] = (*cells)[i];
  return object;
}

Status EvaluatedLines::extract(std::string& text) const {
  if (extract_ == nullptr) return {};
  std::string last;
  const Status status = extract_->split(text, [&](std::string_view piece, bool is_match) {
    if (is_match) last = piece;
  });
  text = std::move(last);
  return status;
}

Result<EvaluatedAnswer> EvaluatedLines::answer_of(const Json& line) const {
  EvaluatedAnswer answer;
  const Result<uint64_t> part = number_of(line, "part");
  if (!part) return part.error();
  answer.part = *part;
  for (const std::string& field : options_.score_fields) {
    const Result<double> score = score_of(line, field);
    if (!score) return score.error();
    answer.of_fields.push_back(*score);
  }
  const Json text = field_of(line, options_.answer);
  if (text.is_null() && options_.metrics.empty() && !options_.majority) return answer;
  if (text.is_null() || text.is_structured())
    return invalid_field(options_.answer, "is {}, expected the answer as a text",
                         text.is_null() ? "missing" : found_text(text));
  answer.text = written_text(text);
  if (const std::optional<double> logprob = best_logprob(line)) {
    answer.is_choice = true;
    answer.logprob = *logprob;
  }
  if (Status status = extract(answer.text); !status) return status.error();
  return answer;
}

Result<std::optional<References>> EvaluatedLines::references_of(const Json& line) const {
  if (options_.metrics.empty()) return std::optional<References>();
  return texts_of(field_of(line, options_.reference), options_.format);
}

// The question that the line answers, and where its answer goes.
EvaluatedQuestion& EvaluatedLines::question_of(const Json& line, uint64_t& choice, size_t part) {
  const bool is_named = !options_.question.empty();
  const std::string key =
      is_named ? json_text(field_of(line, options_.question))
               : json_text(Json::array({field_of(line, "id"), field_of(line, "question_id")}));
  const auto found = last_.find(key);
  if (found != last_.end()) {
    EvaluatedQuestion& question = questions_[found->second];
    const auto is_this = [&](const EvaluatedAnswer& one) { return one.part == part; };
    const bool is_there =
        question.answers.contains(choice) && std::ranges::any_of(question.answers[choice], is_this);
    if (is_there && is_named) choice = question.answers.rbegin()->first + 1;
    if (!is_there || is_named) return question;
  }
  last_[key] = questions_.size();
  return questions_.emplace_back();
}

Status EvaluatedLines::take(const InputRecord& record) {
  Result<Json> object = object_of(record);
  if (!object) {
    ++n_rows_;
    return object.error();
  }
  if (object->is_null()) return {};
  ++n_rows_;
  const Json& line = *object;
  Result<uint64_t> choice = number_of(line, "choice");
  if (!choice) return choice.error();
  Result<EvaluatedAnswer> answer = answer_of(line);
  if (!answer) return answer.error();
  Result<std::optional<References>> references = references_of(line);
  if (!references) return of_field(options_.reference, references.error());
  if (!options_.question.empty() && is_absent(field_of(line, options_.question)))
    return invalid_field(options_.question, "is missing, expected the question that was answered");
  EvaluatedQuestion& question = question_of(line, *choice, answer->part);
  if (question.answers.empty()) {
    question.place = record.place();
    question.line = record.line;
    if (!options_.by.empty()) {
      const Json group = field_of(line, options_.by);
      question.group = group.is_null() ? "" : written_text(group);
    }
    if (!options_.cluster.empty()) {
      const Json cluster = field_of(line, options_.cluster);  // one that has none is its own
      question.cluster =
          cluster.is_null() ? fmt::format("#{}", questions_.size()) : json_text(cluster);
    }
  }
  if (*references && !std::exchange(question.has_references, true))
    question.references = std::move(**references);
  else if (*references && **references != question.references)
    return invalid_field(options_.reference,
                         "differs from that of {} {}, which has the same "
                         "question, expected the same",
                         question.place, question.line);
  std::vector<EvaluatedAnswer>& parts = question.answers[*choice];
  for (size_t i = 0; !parts.empty() && i < answer->of_fields.size(); ++i)
    if (answer->of_fields[i] != parts.front().of_fields[i])
      return invalid_field(options_.score_fields[i],
                           "differs from that of another part of the answer, expected one score "
                           "for all parts");
  parts.push_back(std::move(*answer));
  return {};
}

std::string whole_answer(std::vector<EvaluatedAnswer> parts) {
  if (parts.size() == 1) return std::move(parts[0].text);
  std::ranges::sort(parts, {}, &EvaluatedAnswer::part);
  if (std::ranges::all_of(parts, &EvaluatedAnswer::is_choice))
    return std::ranges::max_element(parts, {}, &EvaluatedAnswer::logprob)->text;
  std::vector<ScoredAnswer> texts;
  for (EvaluatedAnswer& part : parts)
    texts.push_back({.part = part.part, .text = std::move(part.text)});
  return merged(std::move(texts), {}).text;
}

}  // namespace pando
