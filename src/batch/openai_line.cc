#include "batch/openai_line.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "batch/fields.h"
#include "batch/sampling_fields.h"

namespace pando {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kUrls[] = {"/v1/completions", "/v1/chat/completions", "/v1/embeddings"};
constexpr std::string_view kLineFields[] = {"custom_id", "method", "url", "body"};
// Of both bodies. "user", "metadata", "store" and "service_tier" change no answer.
constexpr std::string_view kCommonFields[] = {
    "model", "max_tokens", "temperature", "top_p", "n", "stop", "seed", "presence_penalty",
    "frequency_penalty", "logit_bias", "logprobs", "stream", "user", "metadata", "store",
    "service_tier",
    // beyond OpenAI's own
    "top_k", "min_p", "repetition_penalty", "ignore_eos", "stop_token_ids"};
constexpr std::string_view kCompletionFields[] = {"prompt", "echo", "best_of", "suffix"};
constexpr std::string_view kEmbeddingFields[] = {"model", "input", "encoding_format", "user"};
constexpr std::string_view kChatFields[] = {"messages", "max_completion_tokens", "top_logprobs",
                                            "response_format", "chat_template_kwargs"};

void refuse_others(Fields& fields, const Json& body, std::span<const std::string_view> own) {
  for (const auto& [name, value] : body.items()) {
    if (std::find(std::begin(kCommonFields), std::end(kCommonFields), name) ==
            std::end(kCommonFields) &&
        std::find(own.begin(), own.end(), name) == own.end())
      return fields.fail(invalid_argument("unknown or unsupported field '{}'", name));
  }
}

void read_common(Fields& fields, SamplingOptions& sampling) {
  read_sampling(fields, sampling);
  fields.tokens("stop_token_ids", sampling.stop_tokens);
  bool stream = false;
  fields.flag("stream", stream);
  if (stream) fields.fail("stream", true, "false in a batch");
}

// A text, tokens, or a list of either: one question each.
Status read_prompts(Fields& fields, const char* name, std::vector<BatchQuestion>& out) {
  constexpr const char* kExpected = "a text, a list of token ids, or a list of these";
  if (!fields.has(name)) return invalid_argument("the body has no '{}'", name);
  const Json& prompt = fields[name];
  const auto add = [&](const Json& one) {
    Request& request = out.emplace_back().request;
    const Json object = {{name, one}};
    Fields reader(object);
    if (one.is_string()) {
      reader.text(name, request.prompt);
    } else {
      reader.tokens(name, request.tokens);
      if (one.is_array() && one.empty()) reader.fail(name, one, "at least one token");
    }
    fields.fail(reader.status());
  };
  if (prompt.is_array() && !prompt.empty() && !prompt[0].is_number()) {
    for (const Json& one : prompt) add(one);
  } else if (prompt.is_string() || prompt.is_array()) {
    add(prompt);
  } else {
    fields.fail(name, prompt, kExpected);
  }
  return fields.status();
}

Status parse_completions(const Json& body, BatchLine& line) {
  Fields fields(body);
  refuse_others(fields, body, kCompletionFields);
  SamplingOptions& sampling = line.options.sampling;
  read_common(fields, sampling);
  if (fields.has("logprobs")) {
    fields.integer("logprobs", sampling.top_logprobs);
    sampling.logprobs = true;
  }
  fields.flag("echo", line.echo);
  int best_of = sampling.n;
  fields.integer("best_of", best_of);
  if (best_of != sampling.n) fields.fail("best_of", body["best_of"], "n, or nothing");
  if (fields.has("suffix")) fields.fail("suffix", body["suffix"], "nothing: it is not offered");
  if (line.echo && sampling.logprobs) line.options.prompt_logprobs = true;
  if (sampling.max_tokens == 0 && !line.options.prompt_logprobs)
    fields.fail("max_tokens", 0, "at least 1, or 0 with 'echo' and 'logprobs'");
  return read_prompts(fields, "prompt", line.questions);
}

Status parse_chat(const Json& body, BatchLine& line) {
  Fields fields(body);
  refuse_others(fields, body, kChatFields);
  SamplingOptions& sampling = line.options.sampling;
  read_common(fields, sampling);
  fields.integer("max_completion_tokens", sampling.max_tokens);
  fields.flag("logprobs", sampling.logprobs);
  fields.integer("top_logprobs", sampling.top_logprobs);
  const Json as_text = {{"type", "text"}};
  Json format = as_text, kwargs = Json::object();
  fields.object("response_format", format);
  if (format != as_text) fields.fail("response_format", format, "{\"type\": \"text\"}");
  fields.object("chat_template_kwargs", kwargs);
  Fields chat(kwargs);
  chat.flag("enable_thinking", line.options.chat_options.thinking);
  chat.only(std::initializer_list<std::string_view>{"enable_thinking"});
  fields.fail(chat.status());
  if (!fields.status()) return fields.status();
  if (!fields.has("messages")) return invalid_argument("the body has no 'messages'");
  Result<std::vector<ChatMessage>> messages = parse_messages(body["messages"]);
  if (!messages) return messages.error();
  Request& request = line.questions.emplace_back().request;
  request.messages = std::move(*messages);
  request.chat = line.options.chat_options;
  return {};
}

Status parse_embeddings(const Json& body, BatchLine& line) {
  Fields fields(body);
  fields.only(kEmbeddingFields);
  std::string format = "float";
  fields.text("encoding_format", format);
  line.base64 = format == "base64";
  if (format != "float" && format != "base64")
    fields.fail("encoding_format", body["encoding_format"], "\"float\" or \"base64\"");
  line.options.sampling.n = 1;
  if (Status status = read_prompts(fields, "input", line.questions); !status) return status;
  for (BatchQuestion& question : line.questions) question.request.pooling = Pooling::kLast;
  return {};
}

Status parse_body(const Json& json, BatchLine& line) {
  Fields fields(json);
  std::string method = "POST", url;
  fields.only(kLineFields);
  fields.text("method", method);
  fields.text("url", url);
  if (method != "POST") fields.fail("method", json["method"], "\"POST\"");
  const size_t form = std::find(std::begin(kUrls), std::end(kUrls), url) - std::begin(kUrls);
  if (form == std::size(kUrls))
    fields.fail(
        invalid_argument("field 'url' is \"{}\", expected one of {}", url, fmt::join(kUrls, ", ")));
  constexpr LineForm kForms[] = {LineForm::kCompletions, LineForm::kChat, LineForm::kEmbeddings,
                                 LineForm::kCompletions};
  line.form = kForms[form];
  Json body;
  fields.object("body", body);
  if (!fields.status()) return fields.status();
  if (!body.is_object()) return invalid_argument("the line has no 'body'");
  Fields of_body(body);
  of_body.text("model", line.model);
  if (!of_body.status()) return of_body.status();
  const Status status = line.form == LineForm::kChat         ? parse_chat(body, line)
                        : line.form == LineForm::kEmbeddings ? parse_embeddings(body, line)
                                                             : parse_completions(body, line);
  if (!status) return status;
  for (size_t i = 0; i < line.questions.size(); ++i) {
    BatchQuestion& question = line.questions[i];
    question.index = i;
    question.request.id = i == 0 ? line.id : line.id + "/" + std::to_string(i);
    question.request.sampling = line.options.sampling;
    question.request.logits_hash = line.options.logits_hash;
    // Of one token there is nothing to report.
    if (line.options.prompt_logprobs && question.request.tokens.size() != 1)
      question.request.prompt_logprobs_from = 1;
  }
  return {};
}

}  // namespace

bool is_openai_line(const Json& json) {
  return json.is_object() && (json.contains("custom_id") || json.contains("url"));
}

Result<BatchLine> parse_openai_line(const Json& json, const AnswerOptions& defaults) {
  BatchLine line{.form = LineForm::kCompletions, .options = defaults};
  line.options.prompt_logprobs = false;  // said by 'echo' here
  Fields fields(json);
  fields.text("custom_id", line.id);
  if (!fields.status()) return fields.status().error();
  if (!fields.has("custom_id")) return invalid_argument("the line has a 'url' but no 'custom_id'");
  line.id_json = json["custom_id"].dump();
  if (Status status = parse_body(json, line); !status) {
    line.refused = status.error();
    line.questions.clear();
  }
  return line;
}

}  // namespace pando
