#include "batch/input_line.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/json.h"
#include "task/choices.h"

namespace pando {
namespace {

using Json = nlohmann::json;

// What a field's value is, for messages; long texts are cut. What is inside a list or an object is
// left out: it may be nested deeper than the stack.
std::string shown(const Json& value) {
  if (value.is_structured() && !value.empty()) return value.is_array() ? "[...]" : "{...}";
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= 40) return text;
  size_t n = 37;
  while ((text[n] & 0xc0) == 0x80) --n;  // not inside a character
  return text.substr(0, n) + "...";
}

// Null is as good as absent.
bool has_field(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && !found->is_null();
}

// Reads the fields of one object and remembers the first thing that is wrong.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  bool has(const char* name) const { return has_field(object_, name); }

  void text(const char* name, std::string& out) {
    read(name, "a string", &Json::is_string,
         [&](const Json& value) { out = value.get<std::string>(); });
  }
  void flag(const char* name, bool& out) {
    read(name, "true or false", &Json::is_boolean,
         [&](const Json& value) { out = value.get<bool>(); });
  }
  void number(const char* name, double& out) {
    read(name, "a number", &Json::is_number, [&](const Json& value) { out = value.get<double>(); });
  }
  void integer(const char* name, int& out) {
    read(name, "an integer", &Json::is_number_integer, [&](const Json& value) {
      const double wide = value.get<double>();
      if (wide < -2147483648.0 || wide > 2147483647.0)
        return fail(name, value, "an integer of 32 bits");
      out = value.get<int>();
    });
  }
  void seed(const char* name, std::optional<uint64_t>& out) {
    read(name, "an integer from 0 to 2^64 - 1", &Json::is_number_unsigned,
         [&](const Json& value) { out = value.get<uint64_t>(); });
  }
  // One string is as good as a list of it.
  void texts(const char* name, std::vector<std::string>& out) {
    if (!has(name)) return;
    out.clear();
    if (object_[name].is_string()) return out.push_back(object_[name].get<std::string>());
    list(name, "a list of strings", &Json::is_string,
         [&](const Json& value) { out.push_back(value.get<std::string>()); });
  }
  void tokens(const char* name, std::vector<Token>& out) {
    if (has(name)) out.clear();
    list(name, "a list of token ids", &Json::is_number_unsigned, [&](const Json& value) {
      const uint64_t wide = value.get<uint64_t>();
      if (wide > 0x7fffffff) return fail(name, value, "token ids below 2^31");
      out.push_back(static_cast<Token>(wide));
    });
  }

  // {"token id": bias}
  void biases(const char* name, std::map<Token, double>& out) {
    constexpr const char* kExpected = "an object of token ids and numbers";
    read(name, kExpected, &Json::is_object, [&](const Json& object) {
      out.clear();
      for (const auto& [key, bias] : object.items()) {
        Token token = 0;
        const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
        if (error != std::errc() || end != key.data() + key.size() || !bias.is_number())
          return fail(name, object, kExpected);
        out[token] = bias.get<double>();
      }
    });
  }

  void fail(const char* name, const Json& found, const char* expected) {
    if (status_.ok())
      status_ = invalid_argument("field '{}' is {}, expected {}", name, shown(found), expected);
  }
  // Everything else in the object is a mistake.
  void only(std::span<const std::string_view> known) {
    for (const auto& [name, value] : object_.items())
      if (status_.ok() && std::find(known.begin(), known.end(), name) == known.end())
        status_ = invalid_argument("unknown field '{}'", name);
  }
  const Status& status() const { return status_; }

 private:
  template <class Take>
  void read(const char* name, const char* expected, bool (Json::*is)() const noexcept,
            const Take& take) {
    if (!has(name)) return;
    const Json& value = object_[name];
    if ((value.*is)()) {
      take(value);
    } else {
      fail(name, value, expected);
    }
  }
  template <class Take>
  void list(const char* name, const char* expected, bool (Json::*is)() const noexcept,
            const Take& take) {
    if (!has(name)) return;
    const Json& values = object_[name];
    if (!values.is_array()) return fail(name, values, expected);
    for (const Json& value : values) {
      if (!(value.*is)()) return fail(name, value, expected);
      take(value);
    }
  }

  const Json& object_;
  Status status_;
};

constexpr std::string_view kLineFields[] = {
    // what is asked
    "id", "instruction", "context", "questions", "template", "prompt", "messages", "tokens",
    "thinking", "answers", "choices",
    // how it is generated
    "max_tokens", "temperature", "top_k", "top_p", "min_p", "logit_bias", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "seed", "n", "stop", "stop_tokens", "ignore_eos",
    // what is reported
    "logprobs", "top_logprobs", "prompt_logprobs"};
constexpr std::string_view kQuestionFields[] = {"id", "text", "answers", "choices"};
constexpr std::string_view kMessageFields[] = {"role", "content"};

void read_sampling(Fields& fields, SamplingOptions& sampling) {
  fields.integer("max_tokens", sampling.max_tokens);
  fields.number("temperature", sampling.temperature);
  fields.integer("top_k", sampling.top_k);
  fields.number("top_p", sampling.top_p);
  fields.number("min_p", sampling.min_p);
  fields.biases("logit_bias", sampling.logit_bias);
  fields.number("repetition_penalty", sampling.repetition_penalty);
  fields.number("presence_penalty", sampling.presence_penalty);
  fields.number("frequency_penalty", sampling.frequency_penalty);
  fields.seed("seed", sampling.seed);
  fields.integer("n", sampling.n);
  fields.texts("stop", sampling.stop);
  fields.tokens("stop_tokens", sampling.stop_tokens);
  fields.flag("ignore_eos", sampling.ignore_eos);
  fields.flag("logprobs", sampling.logprobs);
  fields.integer("top_logprobs", sampling.top_logprobs);
}

void read_answers(Fields& fields, std::optional<std::vector<std::string>>& out) {
  if (!fields.has("answers")) return;
  fields.texts("answers", out.emplace());
}

// A line's choices hold for those of its questions that bring none.
Status read_choices(Fields& fields, std::vector<std::string>& out) {
  if (!fields.has("choices")) return {};
  fields.texts("choices", out);
  if (!fields.status()) return fields.status();
  if (out.empty()) return invalid_argument("field 'choices' is [], expected a list of one or more");
  return {};
}

Result<std::string> read_id(const Json& object, const char* what) {
  const Json& id = object["id"];
  if (id.is_string()) return id.get<std::string>();
  if (id.is_number_integer()) return id.dump();
  return invalid_argument("field 'id' of the {} is {}, expected a string or an integer", what,
                          shown(id));
}

Result<BatchQuestion> parse_question(const Json& json, size_t index, const std::string& line_id,
                                     const std::string& context, const AnswerOptions& options) {
  BatchQuestion question{.index = index, .choices = options.choices};
  question.id = std::to_string(index);
  question.id_json = Json(*question.id).dump();
  if (json.is_string()) {
    question.text = json.get<std::string>();
  } else if (json.is_object()) {
    Fields fields(json);
    fields.only(kQuestionFields);
    fields.text("text", question.text);
    read_answers(fields, question.answers);
    if (Status status = read_choices(fields, question.choices); !status) return status.error();
    if (!fields.status()) return fields.status().error();
    if (!fields.has("text")) return invalid_argument("question {} has no 'text'", index);
    if (fields.has("id")) {
      Result<std::string> id = read_id(json, "question");
      if (!id) return id.error();
      question.id = std::move(*id);
      question.id_json = json["id"].dump();
    }
  } else {
    return invalid_argument("question {} is {}, expected a string or an object", index,
                            shown(json));
  }
  question.request = question_request(options, context, question.text);
  question.request.id = line_id + "/" + *question.id;
  return question;
}

Status parse_questions(const Json& json, const std::string& line_id, AnswerOptions& options,
                       BatchLine& line) {
  Fields fields(json);
  std::string context;
  fields.text("context", context);
  fields.text("instruction", options.instruction);
  fields.text("template", options.prompt_template);
  if (!fields.status()) return fields.status();
  if (!fields.has("context")) return invalid_argument("the line has 'questions' but no 'context'");
  for (const char* other : {"prompt", "messages", "tokens", "answers"})
    if (fields.has(other))
      return invalid_argument("field '{}' does not go with 'questions'", other);
  const auto in_template = [&](const char* field) {
    return options.prompt_template.find(field) != std::string::npos;
  };
  if (!in_template("{question}")) return invalid_argument("the template has no {{question}} in it");
  if (!context.empty() && !in_template("{context}"))
    return invalid_argument("the template has no {{context}} in it, so the context would be lost");
  if (!options.chat && !options.instruction.empty() && !in_template("{instruction}"))
    return invalid_argument(
        "the template has no {{instruction}} in it, so the instruction would be lost");
  const Json& questions = json["questions"];
  if (!questions.is_array() || questions.empty())
    return invalid_argument("field 'questions' is {}, expected a list of one or more",
                            shown(questions));
  for (size_t i = 0; i < questions.size(); ++i) {
    Result<BatchQuestion> question = parse_question(questions[i], i, line_id, context, options);
    if (!question) return question.error();
    line.questions.push_back(std::move(*question));
  }
  return {};
}

Result<std::vector<ChatMessage>> parse_messages(const Json& messages) {
  if (!messages.is_array() || messages.empty())
    return invalid_argument("field 'messages' is {}, expected a list of one or more",
                            shown(messages));
  std::vector<ChatMessage> out;
  for (const Json& json : messages) {
    if (!json.is_object())
      return invalid_argument("message {} is {}, expected an object", out.size(), shown(json));
    ChatMessage message;
    Fields fields(json);
    fields.only(kMessageFields);
    fields.text("role", message.role);
    fields.text("content", message.content);
    if (!fields.status()) return fields.status().error();
    for (const char* name : {"role", "content"})
      if (!fields.has(name)) return invalid_argument("message {} has no '{}'", out.size(), name);
    out.push_back(std::move(message));
  }
  return out;
}

Status parse_plain(const Json& json, const std::string& line_id, const AnswerOptions& options,
                   BatchLine& line) {
  Fields fields(json);
  BatchQuestion question;
  question.choices = options.choices;
  question.request.id = line_id;
  fields.text("prompt", question.request.prompt);
  fields.tokens("tokens", question.request.tokens);
  read_answers(fields, question.answers);
  if (!fields.status()) return fields.status();
  for (const char* other : {"context", "instruction", "template"})
    if (fields.has(other))
      return invalid_argument("field '{}' goes with 'questions', which the line does not have",
                              other);
  if (fields.has("prompt") + fields.has("messages") + fields.has("tokens") != 1)
    return invalid_argument("expected one of 'questions', 'prompt', 'messages' and 'tokens'");
  if (fields.has("messages")) {
    Result<std::vector<ChatMessage>> messages = parse_messages(json["messages"]);
    if (!messages) return messages.error();
    question.request.messages = std::move(*messages);
    question.request.chat = options.chat_options;
  } else if (question.request.prompt.empty() && question.request.tokens.empty()) {
    return invalid_argument("the prompt is empty, expected at least one token");
  }
  line.questions.push_back(std::move(question));
  return {};
}

}  // namespace

Result<BatchLine> parse_line(std::string_view text, uint64_t line_number,
                             const AnswerOptions& defaults) {
  Result<Json> parsed = parse_json(text);
  if (!parsed) return invalid_argument("{}", parsed.error().message);
  return read_line(*parsed, line_number, defaults);
}

Result<BatchLine> read_line(const Json& json, uint64_t line_number,
                            const AnswerOptions& defaults) {
  if (!json.is_object()) return invalid_argument("the line is {}, expected an object", shown(json));

  std::string line_id = std::to_string(line_number);
  BatchLine line;
  line.id_json = Json(line_id).dump();
  if (has_field(json, "id")) {
    Result<std::string> id = read_id(json, "line");
    if (!id) return id.error();
    line_id = std::move(*id);
    line.id_json = json["id"].dump();
  }
  AnswerOptions options = defaults;
  Fields fields(json);
  fields.only(kLineFields);
  read_sampling(fields, options.sampling);
  fields.flag("thinking", options.chat_options.thinking);
  fields.flag("prompt_logprobs", options.prompt_logprobs);
  if (Status status = read_choices(fields, options.choices); !status) return status.error();
  if (!fields.status()) return fields.status().error();
  const bool has_questions = has_field(json, "questions");
  if (fields.has("thinking") && !(has_questions ? options.chat : fields.has("messages")))
    return invalid_argument(
        "field 'thinking' goes with 'messages', or with 'questions' that are asked as a "
        "conversation");
  Status status = has_questions ? parse_questions(json, line_id, options, line)
                                : parse_plain(json, line_id, options, line);
  if (!status) return status.error();
  for (BatchQuestion& question : line.questions) {
    question.request.sampling = options.sampling;
    if (options.prompt_logprobs) question.request.prompt_logprobs_from = 1;
    question.request.logits_hash = options.logits_hash;
    if (question.choices.empty()) continue;
    if (Status checked = check_choices(question.request, question.choices); !checked)
      return checked.error();
  }
  return line;
}

}  // namespace pando
