#include "ask/input_table.h"

#include <algorithm>
#include <functional>

#include "base/counted.h"
#include "base/errors.h"
#include "base/json.h"
#include "pando/values/request_options.h"

namespace pando {

bool takes_tables(BatchTask task) {
  return task == BatchTask::kAnswer || task == BatchTask::kEmbed || task == BatchTask::kClassify;
}

}  // namespace pando

namespace pando::ask {
namespace {

constexpr std::string_view kPrompts[] = {"context", "question", "prompt"};
constexpr std::string_view kEmbedded = "text";
constexpr std::string_view kTexts[] = {"id", "instruction", "template"};
// Columns besides the options: JSON values, and lists of texts.
constexpr std::string_view kValues[] = {"prompt_logprobs", "thinking", "schema",
                                        "add_special_tokens", "truncate_prompt_tokens"};
constexpr std::string_view kFlags[] = {"prompt_logprobs", "thinking", "add_special_tokens"};
constexpr std::string_view kLists[] = {"answer", "answers", "choices"};

constexpr std::string_view kEmbedFields[] = {"id", kEmbedded, "instruction", "input_type"};
constexpr std::string_view kClassifyFields[] = {"id", kEmbedded, "text_pair"};

// The columns of a task whose rows are texts; none for questions.
std::span<const std::string_view> text_fields(BatchTask task) {
  if (task == BatchTask::kEmbed) return kEmbedFields;
  if (task == BatchTask::kClassify) return kClassifyFields;
  return {};
}

template <size_t N>
bool is_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_text_field(BatchTask task, std::string_view name) {
  return std::ranges::find(text_fields(task), name) != text_fields(task).end();
}

bool is_list_option(std::string_view name) {
  const RequestOption* option = find_option(name, kInLine);
  using Texts = std::vector<std::string> SamplingOptions::*;
  return option != nullptr && std::holds_alternative<Texts>(option->member);
}

bool is_value(std::string_view name) {
  return is_one_of(kValues, name) ||
         (find_option(name, kInLine) != nullptr && !is_list_option(name));
}

bool is_flag(std::string_view name) {
  const RequestOption* option = find_option(name, kInLine);
  return is_one_of(kFlags, name) ||
         (option != nullptr && std::holds_alternative<bool SamplingOptions::*>(option->member));
}

// Parses JSON. A flag may also be written as in Python (True) or a spreadsheet (TRUE).
Result<Json> cell_value(const std::string& name, const std::string& cell) {
  if (is_flag(name))
    for (const bool flag : {true, false})
      if (cell == (flag ? "True" : "False") || cell == (flag ? "TRUE" : "FALSE")) return Json(flag);
  Result<Json> value = parse_json(cell);
  if (value) return value;
  return invalid_argument("column '{}' is '{}', expected {}", name, cell,
                          is_flag(name) ? "true or false" : "a JSON value");
}

Json texts_between_bars(const std::string& cell) {
  Json texts = Json::array();
  for (size_t at = 0; at <= cell.size();) {
    const size_t end = std::min(cell.find('|', at), cell.size());
    texts.push_back(cell.substr(at, end - at));
    at = end + 1;
  }
  return texts;
}

// Names are compared by this: "max_tokens" of " Max-Tokens".
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c == ' ') continue;
    plain += c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

std::string_view singular(std::string_view name) {
  return name.ends_with('s') ? name.substr(0, name.size() - 1) : name;
}

// Apart from white space around them.
bool is_in_brackets(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace), last = text.find_last_not_of(kSpace);
  return first != std::string_view::npos && text[first] == '[' && text[last] == ']';
}

// A list in JSON, or texts separated by |. Any other text in brackets may be a list in another
// notation, so it is refused. It is accepted only for list options: stop texts such as "[END]" are
// usual.
Result<Json> list_of(const std::string& name, const std::string& cell) {
  Json texts = texts_between_bars(cell);
  if (is_in_brackets(cell)) {
    Result<Json> list = parse_json(cell);
    if (list && std::ranges::all_of(*list, std::mem_fn(&Json::is_string))) return list;
    const bool are_texts = texts.size() > 1 && std::ranges::all_of(texts, [](const Json& text) {
                             return is_in_brackets(text.get_ref<const std::string&>());
                           });
    if (!are_texts && !is_list_option(name))
      return invalid_argument(
          "column '{}' is {}, expected a list of strings in JSON, such as [\"a\", \"b\"], or texts "
          "separated by |",
          name, found_text(Json(cell)));
  }
  const bool is_squad = cell.starts_with('{') && cell.find("answer_start") != std::string::npos;
  if (is_squad)  // an object of lists, in one cell
    return invalid_argument(
        "column '{}' is {}, expected a list of strings in JSON, or texts "
        "separated by |",
        name, found_text(Json(cell)));
  if (!is_list_option(name) && std::ranges::find(texts, Json("")) != texts.end())
    return invalid_argument("column '{}' is {}, expected a text on each side of |", name,
                            found_text(Json(cell)));
  return texts;
}

}  // namespace

bool is_asking_column(std::string_view name) {
  return is_one_of(kPrompts, name) || name == kEmbedded;
}

Result<std::vector<std::string>> split_row(std::string_view row, char separator) {
  std::vector<std::string> cells;
  const auto lone_return = [&] {
    return invalid_argument(
        "cell {} has a carriage return outside quotes, expected a newline at the end of each row",
        cells.size());
  };
  if (const size_t at = row.find('\0'); at != std::string_view::npos)
    return invalid_argument("byte {} of the row is 0, expected text in UTF-8", at + 1);
  for (size_t at = 0;; ++at) {  // behind a separator
    std::string& cell = cells.emplace_back();
    if (at < row.size() && row[at] == '"') {
      for (++at;; ++at) {
        if (at == row.size())
          return invalid_argument("cell {} starts with a quote that is never closed", cells.size());
        if (row[at] == '"' && (++at == row.size() || row[at] != '"')) break;
        cell += row[at];
      }
      if (at < row.size() && row[at] == '\r') return lone_return();
      if (at < row.size() && row[at] != separator)
        return invalid_argument("cell {} continues after its closing quote, expected '{}'",
                                cells.size(), separator);
    } else {
      for (; at < row.size() && row[at] != separator; ++at) {
        if (row[at] == '"')
          return invalid_argument(
              "cell {} has a quote inside, expected the cell in quotes and the inner quote doubled",
              cells.size());
        if (row[at] == '\r') return lone_return();
        cell += row[at];
      }
    }
    if (at >= row.size()) return cells;
  }
}

std::string written_cell(std::string_view text, char separator) {
  const bool is_plain = text.find_first_of("\"\r\n") == std::string_view::npos &&
                        text.find(separator) == std::string_view::npos;
  if (is_plain) return std::string(text);
  std::string cell = "\"";
  for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

bool InputTable::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

Status InputTable::check_names() const {
  if (has("answer") && has("answers"))
    return invalid_argument("the columns are {}, expected 'answer' or 'answers', not both",
                            fmt::join(names_, ", "));
  if (task_ == BatchTask::kAnswer && has("prompt") && (has("context") || has("question")))
    return invalid_argument(
        "the columns are {}, expected 'context' and 'question', or 'prompt', not both",
        fmt::join(names_, ", "));
  const char* expected = nullptr;
  if (!text_fields(task_).empty()) {
    if (!has(kEmbedded)) expected = "'text'";
  } else if (!has("prompt") && (!has("context") || !has("question"))) {
    expected = "'context' and 'question', or 'prompt',";
  }
  if (expected == nullptr) return {};
  return invalid_argument("the columns are {}, expected {} among them", fmt::join(names_, ", "),
                          expected);
}

// All at once, so that two may change their names.
Status InputTable::rename(const std::map<std::string, std::string>& renamed) {
  const std::vector<std::string> before = names_;
  for (const auto& [name, column] : renamed) {
    const auto found = std::find(before.begin(), before.end(), column);
    if (found == before.end())
      return invalid_argument(
          "--columns names the column '{}', which does not exist; the columns are {}", column,
          fmt::join(before, ", "));
    names_[static_cast<size_t>(found - before.begin())] = name;
  }
  return {};
}

std::vector<std::string> InputTable::options() const {
  std::vector<std::string> taken;
  for (const std::string& name : names_)
    if (text_fields(task_).empty() && (is_value(name) || is_list_option(name)))
      taken.push_back(name);
  return taken;
}

std::vector<std::string> InputTable::others() const {
  std::vector<std::string> others;
  for (const std::string& name : names_)
    if (!text_fields(task_).empty()
            ? !is_text_field(task_, name)
            : !is_one_of(kPrompts, name) && !is_one_of(kTexts, name) && !is_one_of(kLists, name) &&
                  !is_value(name) && !is_list_option(name))
      others.push_back(name);
  return others;
}

std::vector<std::pair<std::string, std::string>> InputTable::near_names() const {
  std::vector<std::string_view> known(std::begin(kLists), std::end(kLists));
  known.insert(known.end(), std::begin(kTexts), std::end(kTexts));
  known.insert(known.end(), std::begin(kValues), std::end(kValues));
  for (const RequestOption& option : request_options())
    if (find_option(option.name, kInLine) != nullptr) known.push_back(option.name);
  if (const auto own = text_fields(task_); !own.empty()) known.assign(own.begin(), own.end());
  std::vector<std::pair<std::string, std::string>> near;
  for (const std::string& name : others()) {
    const std::string plain = plain_name(name);
    auto found = std::ranges::find(known, plain);
    if (found == known.end()) found = std::ranges::find(known, singular(plain), singular);
    if (found != known.end()) near.emplace_back(name, *found);
  }
  return near;
}

Result<InputTable> InputTable::open(std::string_view first_row, char separator, BatchTask task,
                                    const std::map<std::string, std::string>& renamed) {
  if (!takes_tables(task))
    return invalid_argument(
        "the input is a table, expected JSON lines, because the fields are lists");
  InputTable table;
  table.separator_ = separator;
  table.task_ = task;
  Result<std::vector<std::string>> names = split_row(first_row, separator);
  if (!names) return names.error();
  table.names_ = std::move(*names);
  if (Status status = table.rename(renamed); !status) return status.error();
  for (size_t i = 0; i < table.names_.size(); ++i) {
    const std::string& name = table.names_[i];
    if (name.empty()) return invalid_argument("column {} has no name", i + 1);
    if (std::count(table.names_.begin(), table.names_.end(), name) > 1)
      return invalid_argument("two columns are named '{}', expected different names", name);
  }
  if (Status status = table.check_names(); !status) return status.error();
  return table;
}

Result<Json> InputTable::line(std::string_view row) const {
  const Result<std::vector<std::string>> cells = split_row(row, separator_);
  if (!cells) return cells.error();
  if (cells->size() != names_.size())
    return invalid_argument("the row has {}, expected {}, as many as the first row",
                            counted(cells->size(), "cells"), names_.size());
  Json line = Json::object(), metadata = Json::object();
  // Names differ, so that no member has to be looked for.
  const auto add = [](Json& object, const std::string& name, Json value) {
    object.get_ref<Json::object_t&>().emplace_back(name, std::move(value));
  };
  metadata.get_ref<Json::object_t&>().reserve(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    const std::string &name = names_[i], &cell = (*cells)[i];
    if (!text_fields(task_).empty()) {
      if (name == kEmbedded || (!cell.empty() && is_text_field(task_, name)))
        line[name] = cell;
      else if (!cell.empty())
        add(metadata, name, cell);
    } else if (is_one_of(kPrompts, name)) {
      line[name] = cell;
    } else if (cell.empty()) {
      continue;
    } else if (is_one_of(kTexts, name)) {
      line[name] = cell;
    } else if (name == "answer") {
      line["answers"] = {cell};
    } else if (is_one_of(kLists, name) || is_list_option(name)) {
      Result<Json> texts = list_of(name, cell);
      if (!texts) return texts.error();
      line[name] = std::move(*texts);
    } else if (is_value(name)) {
      Result<Json> value = cell_value(name, cell);
      if (!value) return value.error();
      line[name] = std::move(*value);
    } else {
      add(metadata, name, cell);
    }
  }
  if (!metadata.empty()) line["metadata"] = std::move(metadata);
  return line;
}

}  // namespace pando::ask
