#include "openai/body.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "openai/chat_fields.h"
#include "openai/errors.h"
#include "openai/sampling_fields.h"

namespace pando::openai {
namespace {

using Json = nlohmann::json;

// Of both bodies. "user", "metadata", "store", "service_tier", "prompt_cache_key" and
// "safety_identifier" change no answer.
constexpr std::string_view kCommonFields[] = {
    "model", "max_tokens", "temperature", "top_p", "n", "stop", "seed", "presence_penalty",
    "frequency_penalty", "logit_bias", "logprobs", "stream", "stream_options", "user", "metadata",
    "store", "service_tier", "prompt_cache_key", "safety_identifier",
    // beyond OpenAI's own
    "top_k", "min_p", "repetition_penalty", "ignore_eos", "stop_token_ids", "sharing", "cache"};
constexpr std::string_view kCompletionFields[] = {"prompt", "echo", "best_of", "suffix"};
constexpr std::string_view kEmbeddingFields[] = {
    "model", "input", "encoding_format", "dimensions", "user", "sharing", "cache"};
constexpr std::string_view kChatFields[] = {
    "messages", "max_completion_tokens", "top_logprobs", "response_format", "chat_template_kwargs",
    "tools", "tool_choice", "documents",
    // which may ask for nothing
    "functions", "parallel_tool_calls", "verbosity", "modalities"};

void refuse_others(Fields& fields, const Json& body, std::span<const std::string_view> own) {
  for (const auto& [name, value] : body.items()) {
    if (std::find(std::begin(kCommonFields), std::end(kCommonFields), name) ==
            std::end(kCommonFields) &&
        std::find(own.begin(), own.end(), name) == own.end())
      return fields.fail(
          blame(name, invalid_argument("unknown or unsupported field '{}'{}", name,
                                       name == "messages" ? " (hint: /v1/chat/completions takes it)"
                                       : name == "prompt" ? " (hint: /v1/completions takes it)"
                                                          : "")));
  }
}

class Parser {
 public:
  Parser(const Json& json, const BodyRules& rules) : fields_(json), json_(json), rules_(rules) {}

  Result<Body> parse(Endpoint endpoint) {
    body_.form.endpoint = endpoint;
    fields_.text("model", body_.form.model);
    if (endpoint == Endpoint::kChat) {
      read_chat();
    } else if (endpoint == Endpoint::kEmbeddings) {
      read_embeddings();
    } else {
      read_completions();
    }
    if (!fields_.status()) return fields_.status().error();
    if (list_bytes(sampling_) > rules_.most_list_bytes / std::max<size_t>(body_.requests.size(), 1))
      return invalid_argument(
          "fields 'logit_bias', 'stop' and 'stop_token_ids' take {} bytes for each of {} prompts, "
          "expected at most {} in all",
          list_bytes(sampling_), body_.requests.size(), rules_.most_list_bytes);
    for (Request& request : body_.requests) {
      request.sampling = sampling_;
      request.logits_hash = rules_.logits_hash;
      // Of one token there is nothing to report.
      if (prompt_logprobs_ && request.tokens.size() != 1) request.prompt_logprobs_from = 1;
    }
    return std::move(body_);
  }

 private:
  void read_common(std::span<const std::string_view> own) {
    refuse_others(fields_, json_, own);
    sampling_ = rules_.sampling;
    read_sampling(fields_, sampling_);
    fields_.tokens("stop_token_ids", sampling_.stop_tokens);
    read_stream();
    read_sharing();
  }

  void read_stream() {
    fields_.flag("stream", body_.stream);
    if (rules_.is_batch && body_.stream) fields_.fail("stream", true, "false in a batch");
    body_.include_usage = read_stream_options(fields_, body_.stream);
  }

  void read_sharing() {
    fields_.flag("sharing", body_.form.sharing);
    fields_.flag("cache", body_.cached);
    if (rules_.is_batch && !body_.cached)
      fields_.fail("cache", false, "nothing in a batch: it shares what it can");
  }

  void read_completions() {
    read_common(kCompletionFields);
    if (fields_.has("logprobs")) {
      fields_.integer("logprobs", sampling_.top_logprobs);
      sampling_.logprobs = true;
    }
    bool& echo = body_.form.echo;
    fields_.flag("echo", echo);
    int best_of = sampling_.n;
    fields_.integer("best_of", best_of);
    if (best_of != sampling_.n) fields_.fail("best_of", json_["best_of"], "n, or nothing");
    if (fields_.has("suffix") && json_["suffix"] != "")
      fields_.fail("suffix", json_["suffix"], "nothing: it is not offered");
    prompt_logprobs_ = echo && sampling_.logprobs;
    if (prompt_logprobs_ && body_.stream)
      fields_.fail("stream", true, "false with 'echo' and 'logprobs'");
    if (sampling_.max_tokens < (prompt_logprobs_ ? 0 : 1))
      fields_.fail("max_tokens", sampling_.max_tokens,
                   "at least 1, or 0 with 'echo' and 'logprobs'");
    if (fields_.has("max_tokens")) body_.length_field = "max_tokens";
    read_prompts("prompt");
  }

  void read_chat() {
    read_common(kChatFields);
    if (fields_.has("max_tokens") && fields_.has("max_completion_tokens") &&
        json_["max_tokens"] != json_["max_completion_tokens"])
      fields_.fail("max_completion_tokens", json_["max_completion_tokens"],
                   "as much as 'max_tokens', of which it is the later name");
    fields_.integer("max_completion_tokens", sampling_.max_tokens);
    for (const char* name : {"max_tokens", "max_completion_tokens"}) {
      if (!fields_.has(name)) continue;
      body_.length_field = name;
      if (sampling_.max_tokens < 1) fields_.fail(name, sampling_.max_tokens, "at least 1");
    }
    fields_.flag("logprobs", sampling_.logprobs);
    fields_.integer("top_logprobs", sampling_.top_logprobs);
    const Json as_text = {{"type", "text"}};
    Json format = as_text;
    fields_.object("response_format", format);
    if (format != as_text) fields_.fail("response_format", format, "{\"type\": \"text\"}");
    read_unasked();
    Request request{.chat = rules_.chat};
    const WrittenOrder order(rules_.text);
    read_chat_options(fields_, order, request.chat);
    if (!fields_.status()) return;
    if (!fields_.has("messages")) return fields_.fail(lacks("messages"));
    Result<std::vector<ChatMessage>> messages = parse_messages(json_["messages"], order);
    if (!messages) return fields_.fail(messages.error());
    request.messages = std::move(*messages);
    body_.requests.push_back(std::move(request));
  }

  // Clients send these though they want nothing by them.
  void read_unasked() {
    const Json nothing = Json::array();
    const auto expect = [&](const char* name, const Json& allowed, const char* expected) {
      if (fields_.has(name) &&
          std::find(allowed.begin(), allowed.end(), json_[name]) == allowed.end())
        fields_.fail(name, json_[name], expected);
    };
    expect("functions", Json::array({nothing}), "[]: 'tools' is their later name");
    expect("verbosity", Json::array({"medium"}), "\"medium\" or nothing: the model is as it is");
    expect("modalities", Json::array({Json::array({"text"})}), "[\"text\"]");
    bool ignored = false;
    fields_.flag("parallel_tool_calls", ignored);
  }

  void read_embeddings() {
    fields_.only(kEmbeddingFields);
    read_sharing();
    sampling_ = rules_.sampling;
    sampling_.n = 1;
    sampling_.max_tokens = 1;  // needs no more room than the prompt
    std::string format = "float";
    fields_.text("encoding_format", format);
    body_.form.base64 = format == "base64";
    if (format != "float" && format != "base64")
      fields_.fail("encoding_format", json_["encoding_format"], "\"float\" or \"base64\"");
    if (rules_.is_batch && fields_.has("dimensions"))
      fields_.fail("dimensions", json_["dimensions"], "nothing in a batch");
    int& n = body_.form.dimensions;
    fields_.integer("dimensions", n);
    if (fields_.has("dimensions") && (n < 1 || n > rules_.d_model))
      fields_.fail(invalid_field("dimensions", "is {}, expected 1 to {}", n, rules_.d_model));
    read_prompts("input");
    if (!rules_.embed) return fields_.fail(rules_.embed.error());
    body_.form.normalise = rules_.embed->normalise.value_or(true);
    for (Request& request : body_.requests) {
      Request asked = embed_request(*rules_.embed, request.prompt);
      request.pooling = asked.pooling;
      if (request.tokens.empty()) request.prompt = std::move(asked.prompt);
    }
  }

  // A text, tokens, or a list of either: one request each.
  void read_prompts(const char* name) {
    if (!fields_.has(name)) return fields_.fail(lacks(name));
    const Json& prompt = json_[name];
    const bool is_list = prompt.is_array() && !prompt.empty() && !prompt[0].is_number();
    if (is_list && prompt.size() > rules_.most_prompts) {
      fields_.fail(invalid_field(name, "has {} prompts, expected at most {}", prompt.size(),
                                 rules_.most_prompts));
    } else if (is_list) {
      for (size_t i = 0; i < prompt.size(); ++i) add_prompt(place_in(name, i).c_str(), prompt[i]);
    } else if (prompt.is_string() || (prompt.is_array() && !prompt.empty())) {
      add_prompt(name, prompt);
    } else {
      fields_.fail(name, prompt, "a text, a list of token ids, or a list of these");
    }
  }

  void add_prompt(const char* name, const Json& one) {
    Request& request = body_.requests.emplace_back();
    const Json object = {{name, one}};
    Fields reader(object);
    if (one.is_string()) {
      reader.text(name, request.prompt);
    } else if (!one.is_array()) {
      reader.fail(name, one, "a text or a list of token ids");
    } else if (one.empty()) {
      reader.fail(name, one, "at least one token");
    } else {
      reader.tokens(name, request.tokens);
    }
    fields_.fail(reader.status());
  }

  Fields fields_;
  const Json& json_;
  const BodyRules& rules_;
  SamplingOptions sampling_;
  bool prompt_logprobs_ = false;
  Body body_;
};

}  // namespace

const char* prompt_field(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kCompletions:
      return "prompt";
    case Endpoint::kChat:
      return "messages";
    case Endpoint::kEmbeddings:
      return "input";
  }
  return "";
}

Result<Body> parse_body(Endpoint endpoint, const Json& json, const BodyRules& rules) {
  if (!json.is_object())
    return invalid_argument("the body is {}, expected an object", found_text(json));
  return Parser(json, rules).parse(endpoint);
}

void name_requests(std::vector<Request>& requests, const std::string& id) {
  for (size_t i = 0; i < requests.size(); ++i)
    requests[i].id = i == 0 ? id : id + "/" + std::to_string(i);
}

}  // namespace pando::openai
