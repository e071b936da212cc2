#include "ask/output_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "ask/input_table.h"
#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "base/json_value.h"

namespace pando::ask {
namespace {

// JSON has no infinite numbers.
bool is_nothing(const Json& value) {
  return value.is_null() || (value.is_number_float() && !std::isfinite(value.get<double>()));
}

// One object for each element of a list of the line, with the line's own fields.
std::vector<Json> exploded(const Json& line, const char* list,
                           const std::function<void(size_t, const Json&, Json&)>& add) {
  std::vector<Json> rows;
  const Json& all = line[list];
  Json others = Json::object();
  for (const auto& [name, value] : line.items())
    if (name != list) others[name] = value;
  for (size_t i = 0; i < all.size(); ++i) {
    Json row = others;
    add(i, all[i], row);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<Json> rows_of(const Json& line) {
  if (line.contains("results"))
    return exploded(line, "results", [](size_t i, const Json& result, Json& row) {
      row["rank"] = i + 1;
      for (const auto& [name, value] : result.items())
        row[name == "id" ? "document" : name] = value;
    });
  if (line.contains("scores") && line.contains("best"))
    return exploded(line, "scores", [](size_t i, const Json& score, Json& row) {
      row["index"] = i;
      row.update(score);
      for (const char* best : {"best", "best_per_byte"}) row[best] = row[best] == i;
    });
  return {line};
}

// The properties of an object that a schema describes.
std::vector<std::string> properties_of(const std::optional<TextForm>& form) {
  std::vector<std::string> names;
  if (!form || form->kind != TextForm::Kind::kJsonSchema) return names;
  const Result<Json> schema = form->schema.is_null() ? parse_json(form->text, LargeNumbers::kKept)
                                                     : Result<Json>(tree_of(form->schema));
  if (!schema || !schema->is_object()) return names;
  const auto properties = schema->find("properties");
  if (properties == schema->end() || !properties->is_object()) return names;
  for (const auto& [name, value] : properties->items()) names.push_back(name);
  return names;
}

// Every field that an answer may have, and the empty name. Columns of properties get other names.
constexpr const char* kAnswerFields[] = {"id",
                                         "question_id",
                                         "part",
                                         "parts",
                                         "choice",
                                         "question",
                                         "text",
                                         "answers",
                                         "exact_match",
                                         "token_f1",
                                         "rouge_l",
                                         "accuracy",
                                         "accuracy_norm",
                                         "finish_reason",
                                         "prompt_tokens",
                                         "completion_tokens",
                                         "choice_logprobs",
                                         "logprobs",
                                         "top_logprobs",
                                         "prompt_logprobs",
                                         "prompt_top_logprobs",
                                         "logits_hash",
                                         "prompt",
                                         "metadata",
                                         "cut",
                                         "warning",
                                         "error",
                                         "more",
                                         ""};

// Repeats `prefix` before the name until it differs from the names in `taken`, and adds it to them.
std::string distinct(std::string name, const char* prefix, std::set<std::string>& taken) {
  while (!taken.insert(name).second) name = prefix + name;
  return name;
}

}  // namespace

OutputTable::OutputTable(const BatchOptions& options)
    : separator_(options.output == OutputFormat::kCsv ? ',' : '\t') {
  std::set<std::string> taken(std::begin(kAnswerFields), std::end(kAnswerFields));
  for (std::string& name : properties_of(options.defaults.sampling.form)) {
    std::string column = distinct(name, "answer.", taken);
    properties_.emplace_back(std::move(name), std::move(column));
  }
  columns_ = all_columns(options, !options.defaults.choices.empty());
}

// Properties stand behind the text that they are parts of.
std::vector<std::string> OutputTable::all_columns(const BatchOptions& options,
                                                  bool has_choices) const {
  std::vector<std::string> columns = columns_of(options, has_choices);
  auto at = std::ranges::find(columns, "text");
  if (at != columns.end()) ++at;
  for (const auto& [name, column] : properties_) at = columns.insert(at, column) + 1;
  return columns;
}

// Answers that were cut are no JSON.
void OutputTable::add_properties(Json& object) const {
  const auto text = object.find("text");
  if (properties_.empty() || text == object.end() || !text->is_string()) return;
  const Result<Json> answer = parse_json(text->get<std::string>(), LargeNumbers::kKept);
  if (!answer || !answer->is_object()) return;
  for (const auto& [name, column] : properties_)
    if (const auto value = answer->find(name); value != answer->end()) object[column] = *value;
}

std::vector<std::string> OutputTable::columns_of(const BatchOptions& options, bool has_choices) {
  switch (options.task) {
    case BatchTask::kAnswer:
      break;
    case BatchTask::kEmbed:
      return {"id", "embedding", "embeddings", "weights", "prompt_tokens"};
    case BatchTask::kRerank:
      return {"id", "rank", "index", "document", "score", "mass", "prompt_tokens"};
    case BatchTask::kScore:
      return {"id", "index", "logprob", "tokens", "likeliest", "best", "best_per_byte"};
    case BatchTask::kClassify:
      return {"id", "label", "score", "labels", "entities", "prompt_tokens"};
  }
  const AnswerOptions& wanted = options.defaults;
  const bool top = wanted.sampling.top_logprobs > 0;
  std::vector<std::string> columns = {"id", "question_id"};
  const auto add = [&](bool wanted, std::initializer_list<const char*> names) {
    if (wanted) columns.insert(columns.end(), names.begin(), names.end());
  };
  add(options.too_long == TooLong::kSplit, {"part", "parts"});
  add(wanted.sampling.n > 1, {"choice"});
  add(options.with.question, {"question"});
  add(true, {"text"});
  add(options.with.answers, {"answers"});
  add(options.with.scores, {"exact_match", "token_f1", "rouge_l"});
  add(options.with.scores && has_choices, {"accuracy", "accuracy_norm"});
  add(true, {"finish_reason", "prompt_tokens", "completion_tokens"});
  add(has_choices, {"choice_logprobs"});
  add(wanted.sampling.logprobs, {"logprobs"});
  add(wanted.sampling.logprobs && top, {"top_logprobs"});
  add(wanted.prompt_logprobs, {"prompt_logprobs"});
  add(wanted.prompt_logprobs && top, {"prompt_top_logprobs"});
  add(wanted.logits_hash, {"logits_hash"});
  add(options.with.prompt, {"prompt"});
  return columns;
}

void OutputTable::take_input_columns(const std::vector<std::string>& names) {
  input_columns_ = names;
}

std::string OutputTable::header() const {
  std::string names;
  const auto add = [&](std::string_view name) {
    names += written_cell(name, separator_) + separator_;
  };
  for (const std::string& name : columns_) add(name);
  std::set<std::string> taken(columns_.begin(), columns_.end());
  taken.insert("more");
  for (const std::string& name : input_columns_) add(distinct(name, "metadata.", taken));
  if (input_columns_.empty()) add("metadata");
  return names + "more\n";
}

std::string OutputTable::row(Json object) const {
  add_properties(object);
  std::string cells;
  const auto add = [&](const Json& value) {
    if (!is_nothing(value))
      cells +=
          written_cell(value.is_string() ? value.get<std::string>() : json_text(value), separator_);
    cells += separator_;
  };
  const auto take = [](Json& from, const std::string& name) {
    Json value;
    if (const auto found = from.find(name); found != from.end()) {
      value = std::move(*found);
      from.erase(name);
    }
    return value;
  };
  for (const std::string& name : columns_) add(take(object, name));
  if (input_columns_.empty()) {
    add(take(object, "metadata"));
  } else {
    Json metadata = take(object, "metadata");
    for (const std::string& name : input_columns_)
      add(metadata.is_object() ? take(metadata, name) : Json());
    if (!metadata.empty()) object["metadata"] = std::move(metadata);
  }
  if (!object.empty()) cells += written_cell(json_text(object), separator_);
  return cells + "\n";
}

std::string OutputTable::rows(const Json& answer) const {
  std::string written;
  for (Json& object : rows_of(answer)) written += row(std::move(object));
  return written;
}

Result<std::vector<Json>> OutputTable::objects(std::string_view rows) const {
  if (const std::string names = header(); rows.starts_with(names)) rows.remove_prefix(names.size());
  std::vector<Json> objects;
  while (!rows.empty()) {
    OpenQuote quote(separator_);
    size_t end = 0;
    for (; end < rows.size() && (rows[end] != '\n' || quote.is_open()); ++end)
      quote.read(rows.substr(end, 1));
    const Result<std::vector<std::string>> cells = split_row(rows.substr(0, end), separator_);
    if (!cells) return cells.error();
    if (cells->size() <= columns_.size())
      return invalid_argument("an answer has {}, expected more than {}",
                              counted(cells->size(), "cells"), columns_.size());
    Json object = Json::object();
    for (size_t i = 0; i < columns_.size(); ++i)
      if (!(*cells)[i].empty()) object[columns_[i]] = (*cells)[i];
    if (!cells->back().empty()) {
      const Result<Json> more = parse_json_object(cells->back(), "an answer");
      if (!more) return more.error();
      object.update(*more);
    }
    objects.push_back(std::move(object));
    rows.remove_prefix(std::min(end + 1, rows.size()));
  }
  return objects;
}

}  // namespace pando::ask
