#include "ask/question_fields.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ask/call_fields.h"
#include "ask/chat_fields.h"
#include "ask/form_fields.h"
#include "ask/line.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "task/choices.h"
#include "task/fill_in.h"

namespace pando::ask {
namespace {

// These fields ask.
constexpr std::string_view kAskedFields[] = {"context", "question", "questions",
                                             "prompt",  "messages", "tokens"};
// How it is asked, besides the options of sampling.
constexpr std::string_view kAskingFields[] = {"id",
                                              "instruction",
                                              "template",
                                              "thinking",
                                              "tools",
                                              "tool_choice",
                                              "parallel_tool_calls",
                                              "thinking_budget",
                                              "thinking_token_budget",
                                              "documents",
                                              "chat_template_kwargs",
                                              "answers",
                                              "choices",
                                              "schema",
                                              "metadata",
                                              "add_special_tokens",
                                              "truncate_prompt_tokens",
                                              "add_generation_prompt",
                                              "continue_final_message",
                                              "prompt_logprobs"};
constexpr std::string_view kObjectFields[] = {"id",      "text",   "answers",
                                              "choices", "schema", "metadata"};

void read_references(Fields& fields, std::optional<std::vector<std::string>>& out) {
  if (fields.has("answers")) fields.texts("answers", out.emplace());
}

// The job's choices hold for questions that bring none.
void read_choices(Fields& fields, std::vector<std::string>& out) {
  fields.texts("choices", out);
  if (fields.has("choices") && out.empty())
    fields.fail("choices", fields["choices"], "a non-empty list");
}

void name_by_index(size_t index, Question& question) {
  question.index = index;
  question.id = std::to_string(index);
  question.id_json = *question.id;
}

Status read_question(const Json& json, size_t index, Question& question) {
  name_by_index(index, question);
  if (json.is_string()) {
    question.text = json.get<std::string>();
    return {};
  }
  if (!json.is_object())
    return invalid_argument("question {} is {}, expected a string or an object", index,
                            found_text(json));
  Fields fields(json);
  fields.only(kObjectFields);
  fields.text("text", question.text);
  read_references(fields, question.answers);
  read_choices(fields, question.choices);
  read_schema(fields, question.request.sampling.form);
  read_metadata(fields, question.metadata);
  if (!fields.has("text"))
    fields.fail(blame("text", invalid_argument("question {} has no 'text'", index)));
  if (!fields.status()) return fields.status();
  if (fields.has("id")) {
    Result<std::string> id = read_id(json, "question");
    if (!id) return id.error();
    question.id = std::move(*id);
    question.id_json = json["id"];
  }
  return {};
}

// By its id an answer is told from the others of its job. One that is not given is the index.
Status check_ids(const std::vector<Question>& questions) {
  std::map<std::string_view, size_t> known;
  for (const Question& question : questions) {
    const auto [first, is_new] = known.emplace(*question.id, question.index);
    if (!is_new)
      return blame(
          fmt::format("questions[{}].id", question.index),
          invalid_argument("question {} has the id '{}' of question {}, expected a different id",
                           question.index, *question.id, first->second));
  }
  return {};
}

// The prompt must have a place for whatever is asked.
Status check_template(const AnswerOptions& options, const std::string& context) {
  const std::string text = options.template_text();
  Status status = pando::check_template(options);
  if (status && !context.empty())
    status = check_field(text, "{context}", ", so the context would be ignored");
  if (status && !options.chat && !options.instruction.empty())
    status = check_field(text, "{instruction}", ", so the instruction would be ignored");
  if (!status) return blame("template", status.error());
  return {};
}

class QuestionReader {
 public:
  QuestionReader(const QuestionSource& source, Job& job)
      : source_(source), job_(job), fields_(source.json), common_{.metadata = Json::object()} {}

  Status read() {
    read_options();
    if (!fields_.status()) return fields_.status();
    const bool has_context = fields_.has("questions") || fields_.has("question");
    if (Status status = check_fields(has_context); !status) return status;
    if (Status status = has_context ? read_context() : read_prompt(); !status) return status;
    return finish();
  }

  Status read(QuestionInput given) {
    read_options();
    if (!fields_.status()) return fields_.status();
    const bool has_context = given.context.has_value();
    if (Status status = check_fields(has_context); !status) return status;
    if (!has_context) {
      read_references(fields_, common_.answers);
      common_.request.prompt = std::move(given.prompt).value_or("");
      common_.request.tokens = std::move(given.tokens);
      if (Status status = add_prompt(); !status) return status;
      return finish();
    }
    if (given.questions.empty())
      return invalid_field("questions", "has no question, expected one or more");
    if (fields_.has("answers"))
      return invalid_field("answers", "cannot be combined with 'questions'");
    if (Status status = set_context(std::move(*given.context)); !status) return status;
    for (std::string& text : given.questions) {
      Question question = common_;
      name_by_index(job_.questions.size(), question);
      question.text = std::move(text);
      job_.questions.push_back(std::move(question));
    }
    return finish();
  }

 private:
  void read_options() {
    AnswerOptions& options = job_.options;
    read_sampling(fields_, kInLine, options.sampling);
    if (fields_.has("max_tokens")) yield_default_length(source_.json, options.sampling);
    if (bool adds = false; fields_.has("add_special_tokens")) {
      fields_.flag("add_special_tokens", adds);
      options.add_special_tokens = adds;
    }
    fields_.integer("truncate_prompt_tokens", most_tokens_);
    if (fields_.has("truncate_prompt_tokens") && most_tokens_ < 1)
      fields_.fail("truncate_prompt_tokens", most_tokens_, "1 or more");
    fields_.flag("thinking", options.chat_options.thinking);
    read_chat_options(fields_, options.chat_options, common_.request.calling);
    read_thinking_budget(fields_, common_.request.thinking_budget);
    fields_.flag("prompt_logprobs", options.prompt_logprobs);
    read_choices(fields_, options.choices);
    read_schema(fields_, options.sampling.form);
    common_.choices = options.choices;
    read_metadata(fields_, common_.metadata);
    fields_.text("instruction", options.instruction);
    if (fields_.has("template")) fields_.text("template", options.prompt_template.emplace());
  }

  // Fields that go with others which are not there.
  Status check_fields(bool has_context) const {
    const bool has_messages = fields_.has("messages");
    for (const char* name : {"add_generation_prompt", "continue_final_message"})
      if (fields_.has(name) && !has_messages) return invalid_field(name, "needs 'messages'");
    for (const char* name : {"thinking", "tools", "documents", "chat_template_kwargs",
                             "thinking_budget", "thinking_token_budget"})
      if (fields_.has(name) && !(has_context ? job_.options.chat : has_messages))
        return invalid_field(name,
                             "needs 'messages', or 'questions' that are asked as a conversation");
    for (const char* name : {"context", "instruction", "template"})
      if (fields_.has(name) && !has_context)
        return invalid_field(name, "needs 'questions', which the {} does not have", source_.name);
    return {};
  }

  Status set_context(std::string context) {
    if (Status status = check_template(job_.options, context); !status) return status;
    job_.contexts = {std::move(context)};
    return {};
  }

  // 'context' with 'questions' or 'question'.
  Status read_context() {
    const bool one = fields_.has("question");
    const char* name = one ? "question" : "questions";
    for (const char* other : {"prompt", "messages", "tokens", one ? "questions" : "answers"})
      if (fields_.has(other)) return invalid_field(other, "cannot be combined with '{}'", name);
    if (!fields_.has("context"))
      return invalid_argument("the {} has '{}' but no 'context', expected {}", source_.name, name,
                              source_.asking);
    std::string context;
    fields_.text("context", context);
    if (!fields_.status()) return fields_.status();
    if (Status status = set_context(std::move(context)); !status) return status;
    if (one) {
      Question question = common_;
      fields_.text("question", question.text);
      read_references(fields_, question.answers);
      job_.questions.push_back(std::move(question));
      return fields_.status();
    }
    const Json& questions = fields_["questions"];
    if (!questions.is_array() || questions.empty())
      return invalid_field("questions", "is {}, expected a non-empty list", found_text(questions));
    for (size_t i = 0; i < questions.size(); ++i) {
      Question question = common_;
      if (Status status = read_question(questions[i], i, question); !status)
        return in_part(fmt::format("questions[{}]", i), status.error());
      job_.questions.push_back(std::move(question));
    }
    return check_ids(job_.questions);
  }

  // 'prompt', 'messages' or 'tokens'.
  Status read_prompt() {
    Request& request = common_.request;
    fields_.text("prompt", request.prompt);
    fields_.tokens("tokens", request.tokens);
    read_references(fields_, common_.answers);
    if (!fields_.status()) return fields_.status();
    if (fields_.has("prompt") + fields_.has("messages") + fields_.has("tokens") != 1)
      return invalid_argument(
          "expected exactly one of 'questions', 'question', 'prompt', 'messages' and 'tokens'");
    if (!fields_.has("messages")) return add_prompt();
    Result<std::vector<ChatMessage>> messages = read_messages(fields_["messages"]);
    if (!messages) return messages.error();
    request.messages = std::move(*messages);
    request.chat = job_.options.chat_options;
    job_.questions.push_back(std::move(common_));
    return {};
  }

  Status add_prompt() {
    if (!fields_.status()) return fields_.status();
    if (common_.request.prompt.empty() && common_.request.tokens.empty())
      return blame("prompt", invalid_argument("the prompt is empty, expected at least one token"));
    job_.questions.push_back(std::move(common_));
    return {};
  }

  Status finish() {
    const AnswerOptions& options = job_.options;
    for (Question& question : job_.questions) {
      Request& request = question.request;
      request.id = !question.id      ? job_.id
                   : job_.id.empty() ? *question.id
                                     : job_.id + "/" + *question.id;
      std::optional<TextForm> own = std::move(request.sampling.form);
      request.sampling = options.sampling;
      if (own) request.sampling.form = std::move(own);
      if (options.prompt_logprobs) request.prompt_logprobs_from = 1;
      request.logits_hash = options.logits_hash;
      if (job_.contexts.empty()) request.add_special_tokens = options.add_special_tokens;
      request.truncate_prompt_tokens = most_tokens_;
      if (question.choices.empty()) continue;
      if (request.sampling.form)
        return invalid_field("choices", "cannot be combined with 'schema'");
      if (request.thinking_budget)
        return invalid_field("choices", "cannot be combined with 'thinking_budget'");
      if (Status checked = check_choices(request, question.choices); !checked) {
        const Error& error = checked.error();
        const bool is_own =
            question.choices != options.choices && error.place.field.starts_with("choices");
        return is_own ? in_part(place_in("questions", question.index), error) : error;
      }
    }
    return {};
  }

  const QuestionSource& source_;
  Job& job_;
  Fields fields_;
  Question common_;  // all questions have it
  int most_tokens_ = 0;
};

Status check_only(const QuestionSource& source, bool with_asked) {
  std::vector<std::string_view> known(std::begin(kAskingFields), std::end(kAskingFields));
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInLine)) known.emplace_back(option.name);
  if (with_asked) known.insert(known.begin(), std::begin(kAskedFields), std::end(kAskedFields));
  known.insert(known.end(), source.other_fields.begin(), source.other_fields.end());
  Fields fields(source.json);
  const auto has = [&](std::string_view name) { return fields.has(name); };
  const bool asks = !with_asked || std::ranges::any_of(kAskedFields, has);
  fields.only(known, asks ? std::string_view() : source.asking);
  return fields.status();
}

}  // namespace

Status check_question_fields(const QuestionSource& source) { return check_only(source, true); }

Status read_questions(const QuestionSource& source, Job& job) {
  if (Status status = check_only(source, true); !status) return status;
  return QuestionReader(source, job).read();
}

Status read_options(const QuestionSource& source, QuestionInput given, Job& job) {
  if (Status status = check_only(source, false); !status) return status;
  return QuestionReader(source, job).read(std::move(given));
}

}  // namespace pando::ask
