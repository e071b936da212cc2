#include "ask/openai_request.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "ask/call_fields.h"
#include "ask/chat_fields.h"
#include "ask/errors.h"
#include "ask/form_fields.h"
#include "ask/sampling_fields.h"
#include "base/errors.h"
#include "base/fields.h"
#include "base/json.h"
#include "base/nearest.h"
#include "text/chat/media.h"

namespace pando::ask {
namespace {

// Fields of both bodies, besides the options. "user", "metadata", "store", "service_tier",
// "safety_identifier", "priority" and the fields for caching change no answer.
constexpr std::string_view kCommonFields[] = {
    "model", "logprobs", "stream", "stream_options", "user", "metadata", "store", "service_tier",
    "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "cache_control",
    "id_slot", "n_cache_reuse", "safety_identifier",
    // beyond OpenAI's own
    "add_special_tokens", "truncate_prompt_tokens", "sharing", "cache", "cache_prompt", "priority"};
constexpr std::string_view kCompletionFields[] = {"prompt", "echo", "best_of", "suffix"};
constexpr std::string_view kEmbeddingFields[] = {"model",
                                                 "input",
                                                 "encoding_format",
                                                 "dimensions",
                                                 "user",
                                                 "add_special_tokens",
                                                 "truncate_prompt_tokens",
                                                 "truncate",
                                                 "normalize",
                                                 "input_type",
                                                 "sharing",
                                                 "cache",
                                                 "cache_prompt",
                                                 "priority"};
constexpr std::string_view kChatFields[] = {
    "messages", "max_completion_tokens", "top_logprobs", "chat_template_kwargs", "tools",
    "tool_choice", "documents", "add_generation_prompt", "continue_final_message",
    "reasoning_effort", "parallel_tool_calls", "functions", "function_call", "thinking_budget",
    "thinking_token_budget",
    // values of these must ask for nothing, except "prediction", which only saves time
    "verbosity", "modalities", "prediction"};

// A null asks for nothing.
void refuse_others(Fields& fields, const Json& body, std::span<const std::string_view> own,
                   std::span<const std::string_view> of_server) {
  std::vector<std::string_view> known(std::begin(kCommonFields), std::end(kCommonFields));
  known.insert(known.end(), own.begin(), own.end());
  known.insert(known.end(), of_server.begin(), of_server.end());
  known.insert(known.end(), body_form_fields().begin(), body_form_fields().end());
  for (const RequestOption& option : request_options())
    if (option.stands_in(kInBody)) known.emplace_back(option.name);
  for (const auto& [name, value] : body.items()) {
    if (value.is_null() || std::ranges::find(known, name) != known.end()) continue;
    return fields.fail(with_nearest(name, known, invalid_field(name, "is unknown or unsupported")));
  }
}

class Parser {
 public:
  Parser(const Json& json, const OpenAiRules& rules) : fields_(json), json_(json), rules_(rules) {}

  Result<OpenAiRequest> parse(Endpoint endpoint) {
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
          "expected at most {} in total",
          list_bytes(sampling_), body_.requests.size(), rules_.most_list_bytes);
    for (Request& request : body_.requests) {
      request.sampling = sampling_;
      request.logits_hash = rules_.logits_hash;
      request.add_special_tokens = add_special_;
      const int most = request.truncate_prompt_tokens;  // from the model's files; 0: no limit
      if (truncate_ > 0) {
        request.truncate_prompt_tokens = most > 0 ? std::min(most, truncate_) : truncate_;
        request.truncate_at_end = truncates_at_end_;
      }
      if (prompt_logprobs_) request.prompt_logprobs_from = 1;
    }
    return std::move(body_);
  }

 private:
  void read_common(std::span<const std::string_view> own) {
    refuse_others(fields_, json_, own, server_fields());
    sampling_ = rules_.sampling;
    read_sampling(fields_, kInBody, sampling_);
    body_.form_field = read_body_form(fields_, sampling_.form);
    read_stream();
    read_serving();
    read_special_tokens();
  }

  // Lines of a batch have none of their own.
  std::span<const std::string_view> server_fields() const {
    return rules_.is_batch ? std::span<const std::string_view>() : serving_field_names();
  }

  void read_special_tokens() {
    bool adds = false;
    fields_.flag("add_special_tokens", adds);
    if (fields_.has("add_special_tokens")) add_special_ = adds;
  }

  // Keeps a prompt's last tokens, or so many as there is room for beside `n_answer`.
  void read_truncation(int n_answer) {
    constexpr int kWhatFits = -1;
    int n = 0;
    fields_.integer("truncate_prompt_tokens", n);
    if (!fields_.has("truncate_prompt_tokens")) return;
    if (n < kWhatFits || n == 0)
      return fields_.fail("truncate_prompt_tokens", n,
                          "1 or more, or -1 for as many tokens as fit");
    if (n == kWhatFits && rules_.is_batch)
      return fields_.fail("truncate_prompt_tokens", n, "1 or more in a batch");
    truncate_ = n == kWhatFits ? std::max(rules_.context - std::max(n_answer, 0), 1) : n;
  }

  void read_stream() {
    fields_.flag("stream", body_.stream);
    if (rules_.is_batch && body_.stream) fields_.fail("stream", true, "false in a batch");
    const StreamOptions options = read_stream_options(fields_, body_.stream);
    body_.include_usage = options.include_usage;
    body_.usage_in_chunks = options.continuous_usage_stats;
  }

  void read_serving() {
    body_.serving = read_serving_fields(fields_);
    if (rules_.is_batch && !body_.serving.cached)
      fields_.fail("cache", false, "true, because a batch always shares what it can");
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
    if (best_of != sampling_.n) fields_.fail("best_of", json_["best_of"], "the value of 'n'");
    read_suffix();
    prompt_logprobs_ = echo && sampling_.logprobs;
    if (prompt_logprobs_ && body_.stream)
      fields_.fail("stream", true, "false with 'echo' and 'logprobs'");
    if (sampling_.max_tokens < (prompt_logprobs_ ? 0 : 1))
      fields_.fail("max_tokens", sampling_.max_tokens,
                   "at least 1, or 0 with 'echo' and 'logprobs'");
    if (fields_.has("max_tokens")) body_.length_field = "max_tokens";
    read_truncation(sampling_.max_tokens);
    read_prompts("prompt");
  }

  // A text behind the answer, which fills the gap. Prompts get the vocabulary's own tokens for
  // that.
  void read_suffix() {
    fields_.text("suffix", suffix_);
    if (suffix_.empty()) return;
    if (!rules_.fim) {
      suffix_.clear();
      return fields_.fail(blame("suffix", rules_.fim.error()));
    }
    if (body_.form.echo) fields_.fail("echo", true, "false with 'suffix'");
    if (sampling_.ignore_eos) return;
    const std::vector<Token>& ends = rules_.fim->ends;
    sampling_.stop_tokens.insert(sampling_.stop_tokens.end(), ends.begin(), ends.end());
  }

  void read_chat() {
    read_common(kChatFields);
    if (fields_.has("max_tokens") && fields_.has("max_completion_tokens") &&
        json_["max_tokens"] != json_["max_completion_tokens"])
      fields_.fail("max_completion_tokens", json_["max_completion_tokens"],
                   "the same value as 'max_tokens', which is its old name");
    fields_.integer("max_completion_tokens", sampling_.max_tokens);
    for (const char* name : {"max_tokens", "max_completion_tokens"}) {
      if (!fields_.has(name)) continue;
      body_.length_field = name;
      if (sampling_.max_tokens < 1) fields_.fail(name, sampling_.max_tokens, "at least 1");
    }
    fields_.flag("logprobs", sampling_.logprobs);
    fields_.integer("top_logprobs", sampling_.top_logprobs);
    constexpr int kAnswer = 128;  // tokens that are left for an answer whose length nothing says
    read_truncation(body_.length_field != nullptr ? sampling_.max_tokens
                                                  : std::min(kAnswer, rules_.context / 2));
    read_unasked();
    Request request{.chat = rules_.chat};
    read_chat_options(fields_, request.chat, request.calling);
    body_.form.functions = read_functions(fields_, request.chat, request.calling);
    // The format is that of a text, and a required call leaves no room for one.
    if (request.calling.required && body_.form_field.starts_with("response_format"))
      sampling_.form.reset();
    read_thinking_budget(fields_, request.thinking_budget);
    read_effort(request.chat);
    if (!fields_.status()) return;
    if (!fields_.has("messages")) return fields_.fail(missing_field("messages"));
    Result<std::vector<ChatMessage>> messages = read_messages(json_["messages"]);
    if (!messages) return fields_.fail(messages.error());
    request.messages = std::move(*messages);
    body_.requests.push_back(std::move(request));
  }

  // Templates that know efforts read the variable. Others ignore it.
  void read_effort(ChatOptions& chat) {
    constexpr const char* kName = "reasoning_effort";
    constexpr std::string_view kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
    std::string effort;
    fields_.text(kName, effort);
    if (effort.empty()) return;
    if (std::ranges::find(kEfforts, effort) == std::end(kEfforts))
      return fields_.fail(kName, json_[kName], one_of_these(kEfforts));
    JsonValue::Object kwargs;
    if (const JsonValue::Object* given = chat.template_kwargs.as_object()) kwargs = *given;
    for (const auto& [name, value] : kwargs)
      if (name == kName) return;
    kwargs.emplace_back(kName, JsonValue{effort});
    chat.template_kwargs = JsonValue::object(std::move(kwargs));
  }

  // Clients send these though they want nothing by them.
  void read_unasked() {
    const auto expect = [&](const char* name, const Json& allowed, const char* expected) {
      if (fields_.has(name) &&
          std::find(allowed.begin(), allowed.end(), json_[name]) == allowed.end())
        fields_.fail(name, json_[name], expected);
    };
    expect("verbosity", Json::array({"medium"}),
           "\"medium\", because the answer's length cannot be set this way");
    expect("modalities", Json::array({Json::array({"text"})}), "[\"text\"]");
  }

  void read_embeddings() {
    std::vector<std::string_view> known(std::begin(kEmbeddingFields), std::end(kEmbeddingFields));
    for (const std::string_view name : server_fields()) known.push_back(name);
    only_without_answers(fields_, known);
    read_serving();
    read_special_tokens();
    read_truncation(0);
    bool at_end = true;
    const bool truncates = read_truncate(fields_, at_end);
    if (truncates) truncates_at_end_ = at_end;
    if (truncates && rules_.is_batch)
      fields_.fail("truncate", json_["truncate"], "false in a batch");
    if (truncates && truncate_ == 0) truncate_ = rules_.context;
    sampling_ = {.max_tokens = 1};  // needs no more room than the prompt
    std::string format = "float";
    fields_.text("encoding_format", format);
    body_.form.base64 = format == "base64";
    if (format != "float" && format != "base64")
      fields_.fail("encoding_format", json_["encoding_format"], "\"float\" or \"base64\"");
    read_prompts("input");
    if (!rules_.embed) return fields_.fail(rules_.embed.error());
    EmbedOptions embed = *rules_.embed;
    int n = embed.dimensions;
    fields_.integer("dimensions", n);
    if (fields_.has("dimensions") && (n < 1 || n > embed.length))
      fields_.fail(invalid_field("dimensions", "is {}, expected 1 to {}", n, embed.length));
    embed.dimensions = n;
    bool normalise = embed.normalise.value_or(true);
    fields_.flag("normalize", normalise);
    embed.normalise = normalise;
    if (fields_.has("dimensions") || fields_.has("normalize")) embed.scaled_first = false;
    read_input_type(embed);
    body_.form.embed = embed;
    for (Request& request : body_.requests) {
      Request asked = embed_request(embed, request.prompt);
      request.pooling = asked.pooling;
      if (!request.tokens.empty()) continue;  // token ids get no prompt and are not cut
      request.prompt = std::move(asked.prompt);
      request.unpooled = std::move(asked.unpooled);
      request.truncate_prompt_tokens = asked.truncate_prompt_tokens;
      request.truncate_at_end = asked.truncate_at_end;
    }
  }

  // Reads which of the model's prompts stands before each text. Models that have none for it take
  // texts as they are.
  void read_input_type(EmbedOptions& embed) {
    std::string type;
    fields_.text("input_type", type);
    if (type.empty()) return;
    const std::string* prompt = prompt_for(embed, type);
    embed.prompt = prompt == nullptr ? "" : *prompt;
  }

  // A text, tokens, or a list of either: one request each.
  void read_prompts(const char* name) {
    if (!fields_.has(name)) return fields_.fail(missing_field(name));
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
      if (Status status = refuse_media(prompt, fmt::format("'{}'", name)); !status)
        return fields_.fail(in_part(name, status.error()));
      fields_.fail(name, prompt, "a string, a list of token ids, or a list of these");
    }
  }

  void add_prompt(const char* name, const Json& one) {
    Request& request = body_.requests.emplace_back();
    if (one.is_string()) {
      request.prompt = one.get<std::string>();
      if (!suffix_.empty()) request.prompt = fim_prompt(*rules_.fim, request.prompt, suffix_);
    } else if (Status status = refuse_media(one, fmt::format("'{}'", name)); !status) {
      fields_.fail(in_part(name, status.error()));
    } else if (!suffix_.empty()) {
      fields_.fail(name, one, "a string with 'suffix'");
    } else if (!one.is_array()) {
      fields_.fail(name, one, "a string or a list of token ids");
    } else if (one.empty()) {
      fields_.fail(name, one, "at least one token");
    } else {
      fields_.tokens_of(name, one, request.tokens);
    }
  }

  Fields fields_;
  const Json& json_;
  const OpenAiRules& rules_;
  SamplingOptions sampling_;
  bool prompt_logprobs_ = false;
  std::optional<bool> add_special_;
  std::string suffix_;  // of a completion
  int truncate_ = 0;
  bool truncates_at_end_ = false;
  OpenAiRequest body_;
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

Result<OpenAiRequest> parse_openai_request(Endpoint endpoint, const Json& json,
                                           const OpenAiRules& rules) {
  if (!json.is_object())
    return invalid_argument("the body is {}, expected an object", found_text(json));
  return Parser(json, rules).parse(endpoint);
}

void name_requests(std::vector<Request>& requests, const std::string& id) {
  for (size_t i = 0; i < requests.size(); ++i)
    requests[i].id = i == 0 ? id : id + "/" + std::to_string(i);
}

}  // namespace pando::ask
