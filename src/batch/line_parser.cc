#include "batch/line_parser.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "api/model_access.h"
#include "base/errors.h"
#include "base/json.h"
#include "batch/too_long.h"
#include "task/metrics.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace pando {

Result<std::unique_ptr<ask::Line>> LineParser::parse(const InputRecord& record, bool was_answered) {
  if (options_.format != InputFormat::kJsonLines && find_invalid_utf8(record.text)) {
    failed_ = wants_names();
    return failed_ ? bad_file(
                         "the input is not text: its first row is not valid UTF-8, expected the "
                         "names of columns")
                   : invalid_argument("the row is not valid UTF-8");
  }
  if (options_.format == InputFormat::kTsv && record.n_lines > 1)
    warn(record,
         fmt::format("a quoted cell joins this line and the next {} into one row",
                     record.n_lines == 2 ? "line" : fmt::format("{} lines", record.n_lines - 1)));
  if (wants_names()) {
    const Status status = open_table(record);
    failed_ = !status.ok();
    if (failed_) return status.error();
    return std::unique_ptr<ask::Line>();
  }
  Result<std::unique_ptr<ask::Line>> line = parse_one(record);
  if (!line) return line;
  if (options_.trec_ids)
    if (Status status = check_ids(**line); !status && !was_answered) return status.error();
  warn_of_references(record, **line);
  warn_of_forms(record, **line);
  warn_of_end_token(record, **line);
  warn_of_prompt(record, **line);
  fit(model_, context_, options_.too_long, **line);
  return line;
}

Result<BatchOptions> options_for_model(const Model& model, BatchOptions options) {
  if (options.task == BatchTask::kEmbed) {
    Result<EmbedOptions> embed = embed_options_for(model, options.embed);
    if (!embed) return embed.error();
    options.embed = std::move(*embed);
  }
  if (options.task == BatchTask::kRerank) {
    Result<RerankOptions> rerank = rerank_options_for(model, options.rerank);
    if (!rerank) return rerank.error();
    options.rerank = std::move(*rerank);
  }
  if (options.task == BatchTask::kClassify) {
    Result<ClassifyOptions> classify = classify_options_for(model, options.classify);
    if (!classify) return classify.error();
    options.classify = std::move(*classify);
  }
  return options;
}

Status LineParser::open_table(const InputRecord& record) {
  names_hash_ = XXH3_64bits(record.text.data(), record.text.size());
  Result<ask::InputTable> table =
      ask::InputTable::open(record.text, options_.format == InputFormat::kCsv ? ',' : '\t',
                            options_.task, options_.columns);
  if (!table) return table.error();
  table_ = std::move(*table);
  if (const std::vector<std::string> names = table_->options(); !names.empty())
    warn(record,
         fmt::format("'{}' {} of each row (hint: --columns NAME={} makes it metadata)",
                     fmt::join(names, "', '"),
                     names.size() == 1 ? "is used as an option" : "are used as options", names[0]));
  for (const auto& [name, field] : table_->near_names())
    warn(record, fmt::format("the column '{}' is metadata (hint: '{}'?)", name, field));
  return {};
}

void LineParser::warn(const InputRecord& record, const std::string& message) const {
  if (options_.on_problem)
    options_.on_problem(fmt::format("{} {}: {}", record.place(), record.line, message));
}

// Such an answer can never be right.
void LineParser::warn_of_references(const InputRecord& record, const ask::Line& line) const {
  for (const ask::Question& question : line.questions) {
    if (question.choices.empty() || !question.answers || question.answers->empty()) continue;
    const bool is_known = std::ranges::any_of(question.choices, [&](const std::string& choice) {
      return accuracy(choice, *question.answers) > 0;
    });
    if (!is_known)
      warn(record, fmt::format("{}the reference '{}' is not one of the choices '{}'",
                               question.id ? fmt::format("question '{}': ", *question.id) : "",
                               question.answers->front(), fmt::join(question.choices, "', '")));
  }
}

void LineParser::warn_of_forms(const InputRecord& record, const ask::Line& line) const {
  if (!options_.on_problem) return;
  const std::optional<TextForm>* last = &options_.defaults.sampling.form;
  for (const ask::Question& question : line.questions) {
    const std::optional<TextForm>& form = question.request.sampling.form;
    if (!form || form == *last) continue;
    last = &form;
    for (const std::string& warning : model_.form_warnings(*form)) warn(record, warning);
  }
}

// Warns of the first line whose answers continue such a prompt. Conversations and choices do not.
void LineParser::warn_of_end_token(const InputRecord& record, const ask::Line& line) {
  if (warned_of_end_token_ || options_.task != BatchTask::kAnswer) return;
  const auto continues = [&](const ask::Question& question) {
    const Request& request = question.request;
    const bool own_prompt = line.contexts.empty();
    const bool is_chat = own_prompt ? !request.messages.empty() : line.options.chat;
    const bool adds = (own_prompt ? request.add_special_tokens : line.options.add_special_tokens)
                          .value_or(!is_chat);
    return adds && question.choices.empty() && request.tokens.empty() &&
           request.pooling == Pooling::kNone && request.sampling.max_tokens > 0;
  };
  if (std::ranges::none_of(line.questions, continues)) return;
  warned_of_end_token_ = true;
  if (const std::string warning = model_.prompt_warning(); !warning.empty())
    warn(record,
         warning + " (hint: --no-special-tokens, or \"add_special_tokens\": false on the line)");
}

// The first line whose prompt gets no chat template although the options ask for one.
void LineParser::warn_of_prompt(const InputRecord& record, const ask::Line& line) {
  if (warned_of_prompt_ || options_.task != BatchTask::kAnswer || !options_.defaults.chat) return;
  if (line.unique_field() || !line.contexts.empty()) return;  // OpenAI's lines name their form
  const auto is_text = [](const ask::Question& question) {
    return question.request.messages.empty() && question.request.tokens.empty();
  };
  if (std::ranges::none_of(line.questions, is_text)) return;
  warned_of_prompt_ = true;
  warn(record,
       "'prompt' is asked without the chat template, expected 'messages' for a conversation");
}

// Fields by the names that they go by here.
static Status rename_fields(const std::map<std::string, std::string>& renamed, Json& line) {
  std::vector<std::pair<std::string, Json>> taken;
  for (const auto& [name, field] : renamed) {
    const auto found = line.find(field);
    if (found == line.end()) continue;
    taken.emplace_back(name, std::move(*found));
    line.erase(field);
  }
  for (auto& [name, value] : taken) {
    if (line.contains(name))
      return invalid_argument(
          "field '{0}' is present, but --columns reads it from '{1}' (hint: --columns NAME={0} "
          "gives the present field another name)",
          name, renamed.at(name));
    line[name] = std::move(value);
  }
  return {};
}

Status LineParser::check_ids(const ask::Line& line) {
  if (Status status = check_trec_ids(line); !status) return status;
  if (!queries_.insert(line.id).second)
    return invalid_argument("query '{}' appears twice, expected a different id for each query",
                            line.id);
  return {};
}

// Tables' names are refused when they are opened.
void LineParser::end() const {
  if (!has_lines_ || table_ || !options_.on_problem) return;
  for (const std::string& field : unseen_fields_)
    options_.on_problem(fmt::format("--columns: no line has a field '{}'", field));
}

Result<std::unique_ptr<ask::Line>> LineParser::parse_one(const InputRecord& record) {
  Result<Json> json =
      table_ ? table_->line(record.text) : parse_json(record.text, LargeNumbers::kKept);
  if (!json) return json.error();
  if (!table_ && json->is_object()) {
    has_lines_ = true;
    std::erase_if(unseen_fields_, [&](const std::string& field) { return json->contains(field); });
    if (Status status = rename_fields(options_.columns, *json); !status) return status.error();
  }
  return ask::line_reader(options_.task)(
      *json, {.number = record.line, .options = options_, .embed = embed_});
}

}  // namespace pando
