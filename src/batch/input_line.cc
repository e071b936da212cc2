#include "batch/input_line.h"

#include <iterator>
#include <map>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "batch/line_head.h"
#include "batch/openai_line.h"
#include "openai/chat_fields.h"
#include "openai/sampling_fields.h"
#include "pando/score.h"
#include "task/choices.h"

namespace pando {
namespace {

using Json = nlohmann::json;

// Besides the options.
constexpr std::string_view kLineFields[] = {"id",
                                            "instruction",
                                            "context",
                                            "question",
                                            "questions",
                                            "template",
                                            "prompt",
                                            "messages",
                                            "tokens",
                                            "thinking",
                                            "tools",
                                            "tool_choice",
                                            "documents",
                                            "chat_template_kwargs",
                                            "answers",
                                            "choices",
                                            "metadata",
                                            "add_special_tokens",
                                            "truncate_prompt_tokens",
                                            "add_generation_prompt",
                                            "continue_final_message",
                                            "prompt_logprobs"};
constexpr std::string_view kQuestionFields[] = {"id", "text", "answers", "choices", "metadata"};
constexpr const char* kOneOf =
    "expected one of 'questions', 'question', 'prompt', 'messages' and 'tokens'";

std::span<const std::string_view> line_fields() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all(std::begin(kLineFields), std::end(kLineFields));
    for (const RequestOption& option : request_options())
      if (option.stands_in(kInLine)) all.emplace_back(option.name);
    return all;
  }();
  return names;
}

void read_answers(Fields& fields, std::optional<std::vector<std::string>>& out) {
  if (fields.has("answers")) fields.texts("answers", out.emplace());
}

// A line's choices hold for those of its questions that bring none.
void read_choices(Fields& fields, std::vector<std::string>& out) {
  fields.texts("choices", out);
  if (fields.has("choices") && out.empty())
    fields.fail("choices", fields["choices"], "a list of one or more");
}

Status parse_question(const Json& json, size_t index, BatchQuestion& question) {
  question.index = index;
  question.id = std::to_string(index);
  question.id_json = Json(*question.id).dump();
  if (json.is_string()) {
    question.text = json.get<std::string>();
    return {};
  }
  if (!json.is_object())
    return invalid_argument("question {} is {}, expected a string or an object", index,
                            found_text(json));
  Fields fields(json);
  fields.only(kQuestionFields);
  fields.text("text", question.text);
  read_answers(fields, question.answers);
  read_choices(fields, question.choices);
  read_metadata(fields, question.metadata);
  if (!fields.has("text"))
    fields.fail(blame("text", invalid_argument("question {} has no 'text'", index)));
  if (!fields.status()) return fields.status();
  if (fields.has("id")) {
    Result<std::string> id = read_id(json, "question");
    if (!id) return id.error();
    question.id = std::move(*id);
    question.id_json = json_text(json["id"]);
  }
  return {};
}

// By its id an answer is told from the others of its line. One that is not given is the index.
Status check_ids(const std::vector<BatchQuestion>& questions) {
  std::map<std::string_view, size_t> known;
  for (const BatchQuestion& question : questions) {
    const auto [first, is_new] = known.emplace(*question.id, question.index);
    if (!is_new)
      return blame(fmt::format("questions[{}].id", question.index),
                   invalid_argument("question {} has the id '{}' of question {}, expected another",
                                    question.index, *question.id, first->second));
  }
  return {};
}

// The prompt must have a place for whatever the line brings.
Status check_template(const AnswerOptions& options, const std::string& context) {
  const std::string text = options.template_text();
  const auto has = [&](const char* field) { return text.find(field) != std::string::npos; };
  const auto lacks = [](std::string_view what) {
    return blame("template", invalid_argument("the template has no {}", what));
  };
  if (!has("{question}")) return lacks("{question} in it");
  if (!context.empty() && !has("{context}"))
    return lacks("{context} in it, so the context would be lost");
  if (!options.chat && !options.instruction.empty() && !has("{instruction}"))
    return lacks("{instruction} in it, so the instruction would be lost");
  return {};
}

// A line with 'questions' or 'question'; `common` is what all its questions have.
Status parse_context(Fields& fields, const BatchQuestion& common, BatchLine& line) {
  std::string context;
  fields.text("context", context);
  fields.text("instruction", line.options.instruction);
  if (fields.has("template")) fields.text("template", line.options.prompt_template.emplace());
  if (!fields.status()) return fields.status();
  const bool one = fields.has("question");
  const char* name = one ? "question" : "questions";
  for (const char* other : {"prompt", "messages", "tokens", one ? "questions" : "answers"})
    if (fields.has(other)) return invalid_field(other, "does not go with '{}'", name);
  if (!fields.has("context")) return invalid_argument("the line has '{}' but no 'context'", name);
  if (Status status = check_template(line.options, context); !status) return status;
  line.contexts = {std::move(context)};
  if (one) {
    BatchQuestion question = common;
    fields.text("question", question.text);
    read_answers(fields, question.answers);
    line.questions.push_back(std::move(question));
    return fields.status();
  }
  const Json& questions = fields["questions"];
  if (!questions.is_array() || questions.empty())
    return invalid_field("questions", "is {}, expected a list of one or more",
                         found_text(questions));
  for (size_t i = 0; i < questions.size(); ++i) {
    BatchQuestion question = common;
    if (Status status = parse_question(questions[i], i, question); !status)
      return in_part(fmt::format("questions[{}]", i), status.error());
    line.questions.push_back(std::move(question));
  }
  return check_ids(line.questions);
}

Status parse_plain(Fields& fields, BatchQuestion question, const WrittenOrder& order,
                   BatchLine& line) {
  fields.text("prompt", question.request.prompt);
  fields.tokens("tokens", question.request.tokens);
  read_answers(fields, question.answers);
  if (!fields.status()) return fields.status();
  for (const char* other : {"context", "instruction", "template"})
    if (fields.has(other))
      return invalid_field(other, "goes with 'questions', which the line does not have");
  if (fields.has("prompt") + fields.has("messages") + fields.has("tokens") != 1)
    return Error{ErrorCode::kInvalidArgument, kOneOf};
  if (fields.has("messages")) {
    Result<std::vector<ChatMessage>> messages = parse_messages(fields["messages"], order);
    if (!messages) return messages.error();
    question.request.messages = std::move(*messages);
    question.request.chat = line.options.chat_options;
  } else if (question.request.prompt.empty() && question.request.tokens.empty()) {
    return blame("prompt", invalid_argument("the prompt is empty, expected at least one token"));
  }
  line.questions.push_back(std::move(question));
  return {};
}

Result<BatchLine> parse_native(const Json& json, uint64_t line_number,
                               const AnswerOptions& defaults, std::string_view text) {
  Result<BatchLine> begun = begin_line(json, line_number, defaults);
  if (!begun) return begun.error();
  BatchLine& line = *begun;
  Fields fields(json);
  AnswerOptions& options = line.options;
  fields.only(line_fields());
  read_sampling(fields, kInLine, options.sampling);
  if (bool adds = false; fields.has("add_special_tokens")) {
    fields.flag("add_special_tokens", adds);
    options.add_special_tokens = adds;
  }
  int most_tokens = 0;
  fields.integer("truncate_prompt_tokens", most_tokens);
  if (fields.has("truncate_prompt_tokens") && most_tokens < 1)
    fields.fail("truncate_prompt_tokens", most_tokens, "1 or more");
  const WrittenOrder order(text);
  fields.flag("thinking", options.chat_options.thinking);
  read_chat_options(fields, order, options.chat_options);
  fields.flag("prompt_logprobs", options.prompt_logprobs);
  read_choices(fields, options.choices);
  BatchQuestion common{.choices = options.choices, .metadata = Json::object()};
  read_metadata(fields, common.metadata);
  if (!fields.status()) return fields.status().error();
  const bool has_context = fields.has("questions") || fields.has("question");
  for (const char* name : {"add_generation_prompt", "continue_final_message"})
    if (fields.has(name) && !fields.has("messages"))
      return invalid_field(name, "is allowed only with 'messages'");
  for (const char* name : {"thinking", "tools", "documents", "chat_template_kwargs"})
    if (fields.has(name) && !(has_context ? options.chat : fields.has("messages")))
      return invalid_field(
          name, "goes with 'messages', or with 'questions' that are asked as a conversation");
  Status status = has_context ? parse_context(fields, common, line)
                              : parse_plain(fields, std::move(common), order, line);
  if (!status) return status.error();
  for (BatchQuestion& question : line.questions) {
    Request& request = question.request;
    request.id = question.id ? line.id + "/" + *question.id : line.id;
    request.sampling = options.sampling;
    if (options.prompt_logprobs) request.prompt_logprobs_from = 1;
    request.logits_hash = options.logits_hash;
    if (!has_context) request.add_special_tokens = options.add_special_tokens;
    request.truncate_prompt_tokens = most_tokens;
    if (question.choices.empty()) continue;
    if (Status checked = check_choices(request, question.choices); !checked) return checked.error();
  }
  return begun;
}

}  // namespace

Request request_of(const BatchLine& line, const BatchQuestion& question) {
  if (line.contexts.empty()) return question.request;
  Request request = question_request(line.options, line.contexts[question.part], question.text);
  request.id = question.request.id;
  request.truncate_prompt_tokens = question.request.truncate_prompt_tokens;
  return request;
}

Result<std::vector<Request>> requests_of(const Model& model, const BatchLine& line,
                                         const BatchQuestion& question) {
  if (question.choices.empty()) return std::vector{request_of(line, question)};
  if (!question.as_given)
    return choice_requests(model, request_of(line, question), question.choices);
  std::vector<Request> requests;
  const size_t n_at_once = question.prefixes.empty() ? question.choices.size() : 1;
  for (size_t i = 0; i < question.choices.size(); i += n_at_once) {
    const std::string& prompt =
        question.prefixes.empty() ? question.request.prompt : question.prefixes[i];
    auto scoring =
        continuation_requests(model, prompt, std::span(question.choices).subspan(i, n_at_once));
    if (!scoring) return scoring.error();
    std::move(scoring->begin(), scoring->end(), std::back_inserter(requests));
  }
  requests = joined(std::move(requests));
  for (Request& request : requests) {
    request.id = question.request.id;
    request.logits_hash = question.request.logits_hash;
  }
  return requests;
}

std::vector<Completion> answers_of(const BatchQuestion& question,
                                   std::span<std::vector<Completion>> completions) {
  if (question.choices.empty()) return std::move(completions[0]);
  return {likeliest_choice(question.choices, completions)};
}

Status check_field_names(const Json& line) {
  Fields fields(line);
  fields.only(line_fields());
  return fields.status();
}

Result<BatchLine> read_line(const Json& json, uint64_t line_number, const AnswerOptions& defaults,
                            std::string_view text, const Result<EmbedOptions>& embed) {
  if (!json.is_object())
    return invalid_argument("the line is {}, expected an object", found_text(json));
  return is_openai_line(json) ? parse_openai_line(json, defaults, text, embed)
                              : parse_native(json, line_number, defaults, text);
}

Result<BatchLine> parse_line(std::string_view text, uint64_t line_number,
                             const AnswerOptions& defaults) {
  const Result<Json> json = parse_json(text);
  if (!json) return invalid_argument("{}", json.error().message);
  return read_line(*json, line_number, defaults, text);
}

}  // namespace pando
