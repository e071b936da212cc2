// Bodies of OpenAI's own endpoints.
#include "ask/openai_body.h"

#include <algorithm>
#include <memory>

#include "api/model_access.h"
#include "ask/body.h"
#include "ask/body_checks.h"
#include "ask/door_fields.h"
#include "ask/errors.h"
#include "ask/logprobs.h"
#include "ask/openai_request.h"
#include "ask/openai_response.h"
#include "ask/sampling_fields.h"
#include "ask/usage.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

constexpr int kCompletionTokens = 16;  // as OpenAI's documentation says

// Fields of Mistral's fill-in-the-middle, whose answers are chats.
constexpr DoorField kFimFields[] = {
    {"prompt", "prompt"}, {"suffix", "suffix"},    {"stop", "stop"}, {"max_tokens", "max_tokens"},
    {"stream", "stream"}, {"random_seed", "seed"}, {"metadata"}};

class OpenAiBody : public Body {
 public:
  explicit OpenAiBody(const BodyContext& context) : Body(context), model_(context.model) {}
  // The answer to a completion has the form of a chat's, with a content in every chunk.
  bool answers_as_chat = false;

  Status take(OpenAiRequest read, const BodyContext& context) {
    form_ = std::move(read.form);
    prompt_field_ = prompt_field(form_.endpoint);
    if (answers_as_chat) form_.endpoint = Endpoint::kChat;
    include_usage_ = read.include_usage;
    usage_in_chunks_ = read.usage_in_chunks;
    stream = read.stream;
    serving = std::move(read.serving);
    length_field = read.length_field;
    form_field_ = std::move(read.form_field);
    name_requests(read.requests, envelope_.id);
    for (Request& request : read.requests)
      if (Status status = add_question(context, {.request = std::move(request)}); !status)
        return status;
    for (size_t i = 0; stream && i < requests.size(); ++i) {
      first_choice_.push_back(choices_.size());
      for (int choice = 0; choice < requests[i].sampling.n; ++choice)
        choices_.push_back({.request = i, .lists = TokenLists(model_)});
    }
    return {};
  }

  std::string place(size_t request) const override {
    return requests.size() > 1 ? place_in(prompt_field_, request) : prompt_field_;
  }

  std::string form_place(size_t) const override { return form_field_; }

  std::string begin() override {
    std::string events;
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (is_chat()) {
        events += chunk(i, {{"role", "assistant"}, {"content", ""}}, nullptr, nullptr);
      } else if (form_.echo) {
        const std::string text = echoed_prompt(requests[choices_[i].request], model_);
        choices_[i].lists.skip(text);
        events += chunk(i, text, nullptr, nullptr);
      }
    }
    return events;
  }

  std::string write_event(size_t request, const Event& event) override {
    const size_t index = first_choice_[request] + static_cast<size_t>(event.choice);
    Choice& choice = choices_[index];
    const Request& asked = requests[request];
    if (event.logprob) choice.pending.push_back(*event.logprob);
    std::vector<TokenLogprob> logprobs;
    if (event.completion) {  // with what was not told
      const auto all = reported_logprobs(model_, asked, *event.completion);
      logprobs.assign(
          all.begin() + static_cast<std::ptrdiff_t>(std::min(choice.n_reported, all.size())),
          all.end());
    } else if (asked.sampling.stop.empty() ||
               (!tells_at_end(model_, asked) &&
                !(event.text.empty() && event.reasoning.empty() && event.calls.empty()))) {
      logprobs = std::exchange(choice.pending, {});
    }  // else the token may belong to a text that stops the answer
    choice.n_reported += logprobs.size();
    n_ended_ += event.completion.has_value();
    choice.n_tokens = event.completion ? event.completion->tokens.size() : event.n_tokens;
    Json lists = nullptr;
    if (!logprobs.empty() && is_chat()) lists = chat_logprobs(model_, logprobs);
    if (!logprobs.empty() && !is_chat()) {
      choice.lists.add_all(logprobs);
      lists = choice.lists.take();
    }
    const Json reason =
        event.completion ? Json(finish_reason(form_, *event.completion)) : Json(nullptr);
    if (!is_chat()) return chunk(index, event.text, std::move(lists), reason);
    Json delta = Json::object();
    if (!event.reasoning.empty()) delta[kReasoningField] = event.reasoning;
    if (!event.calls.empty() && form_.functions) {
      delta["function_call"] = function_call(event.calls[0]);
    } else if (!event.calls.empty()) {
      Json& calls = delta["tool_calls"] = tool_calls(event.calls);
      for (Json& call : calls) call["index"] = choice.n_calls++;
    }
    const bool needs_content = answers_as_chat || (delta.empty() && !event.completion);
    if (!event.text.empty() || needs_content) delta["content"] = event.text;
    return chunk(index, std::move(delta), std::move(lists), reason);
  }

  // Only counts are kept of it.
  std::string write_answers(size_t question) override {
    for (std::vector<Completion>& of_request : completions().of(question)) {
      usage_.add(of_request);
      sharing_.add({&of_request, 1});
      of_request.clear();
    }
    return {};
  }

  std::string end() override {
    if (!has_last_chunk()) return std::string(kStreamEnd);
    Json last = head(form_, envelope_, /*chunk=*/true);
    last["choices"] = Json::array();
    if (include_usage_) last["usage"] = usage_.json(/*cached=*/true);
    if (serving.sharing) last["sharing"] = sharing_.json();
    add_warnings(last);
    return stream_event(last).append(kStreamEnd);
  }

  Json answer() override {
    std::vector<const Request*> asked;
    for (const Request& request : requests) asked.push_back(&request);
    Json json =
        response_body(form_, envelope_, asked, completions().all(), model_, /*cached=*/true);
    if (serving.sharing) json["sharing"] = SharingCounts(completions().all()).json();
    add_warnings(json);
    return json;
  }

 private:
  struct Choice {
    size_t request;
    TokenLists lists;
    std::vector<TokenLogprob> pending = {};  // of tokens whose text did not come yet
    size_t n_reported = 0;                   // tokens whose log-probabilities were sent
    size_t n_tokens = 0;                     // generated so far
    size_t n_calls = 0;                      // told so far
  };

  bool is_chat() const { return form_.endpoint == Endpoint::kChat; }
  // Says whether a chunk without choices follows.
  bool has_last_chunk() const { return include_usage_ || serving.sharing; }

  std::string chunk(size_t index, Json text, Json logprobs, Json reason) const {
    Json choice = {{"index", index}};
    choice[is_chat() ? "delta" : "text"] = std::move(text);
    choice["logprobs"] = std::move(logprobs);
    choice["finish_reason"] = std::move(reason);
    Json json = head(form_, envelope_, /*chunk=*/true);
    json["choices"] = Json::array({std::move(choice)});
    if (usage_in_chunks_) {
      UsageCounts so_far;
      for (const Request& request : requests) so_far.n_prompt += request.tokens.size();
      for (const Choice& one : choices_) so_far.n_generated += one.n_tokens;
      json["usage"] = so_far.json(/*cached=*/false);
    } else if (include_usage_) {
      json["usage"] = nullptr;
    }
    // A chunk of its own would have no choice, which clients do not expect unasked.
    if (n_ended_ == choices_.size() && !has_last_chunk()) add_warnings(json);
    return stream_event(json);
  }

  AnswerForm form_;
  const char* prompt_field_ = "";
  std::string form_field_;  // that says the form of answers
  bool include_usage_ = false, usage_in_chunks_ = false;
  const Model& model_;
  std::vector<Choice> choices_;       // of all requests, of a stream
  std::vector<size_t> first_choice_;  // [requests]
  size_t n_ended_ = 0;                // choices, of a stream
  UsageCounts usage_;                 // of what was answered, of a stream
  SharingCounts sharing_;
};

// Texts of models whose rows see both ways have special tokens at both ends. Ids of another
// tokenizer do not.
Status check_ends_of_ids(const std::vector<Request>& requests, const Model& model) {
  if (!spec_of(model).both_ways || !model.has_tokenizer()) return {};
  const Result<std::vector<Token>> ends = model.encode("");
  if (!ends) return ends.error();
  if (ends->size() < 2) return {};
  for (size_t i = 0; i < requests.size(); ++i) {
    const std::vector<Token>& ids = requests[i].tokens;
    if (ids.empty() || !requests[i].add_special_tokens.value_or(true)) continue;
    if (ids.front() == ends->front() && ids.back() == ends->back()) continue;
    const std::string field = prompt_field(Endpoint::kEmbeddings);
    return invalid_field(
        requests.size() > 1 ? place_in(field, i) : field,
        "is token ids from {} to {}, expected ids of this model's tokenizer, from {} to {}",
        ids.front(), ids.back(), ends->front(), ends->back());
  }
  return {};
}

Result<std::unique_ptr<Body>> read_body(Endpoint endpoint, const Json& json,
                                        const BodyContext& context) {
  Result<OpenAiRequest> read = read_openai_request(endpoint, json, context);
  if (!read) return read.error();
  auto body = std::make_unique<OpenAiBody>(context);
  if (Status status = body->take(std::move(*read), context); !status) return status.error();
  if (endpoint == Endpoint::kEmbeddings &&
      std::ranges::any_of(body->requests, [](const Request& one) { return !one.tokens.empty(); }))
    body->log_note = "the input is token ids, which must come from this model's tokenizer";
  return std::unique_ptr<Body>(std::move(body));
}

}  // namespace

Result<OpenAiRequest> read_openai_request(Endpoint endpoint, const Json& json,
                                          const BodyContext& context, const EmbedOptions& embed) {
  OpenAiRules rules{.context = context.context,
                    .most_prompts = Bounds::kMostRequests,
                    .most_list_bytes = Bounds::kMostBytes};
  if (endpoint == Endpoint::kEmbeddings) rules.embed = embed_options_for(context.model, embed);
  if (const auto suffix = json.find("suffix"); suffix != json.end() && suffix->is_string())
    rules.fim = fim_form_for(context.model);
  rules.sampling.temperature = 1;
  rules.sampling.max_tokens =
      endpoint == Endpoint::kCompletions ? kCompletionTokens : context.context;
  context.defaults.apply_to(rules.sampling);
  if (Status status = check_lists(json); !status) return status.error();
  Result<OpenAiRequest> read = parse_openai_request(endpoint, json, rules);
  if (!read) return read.error();
  if (endpoint == Endpoint::kEmbeddings)
    if (Status status = check_ends_of_ids(read->requests, context.model); !status)
      return status.error();
  for (Request& request : read->requests) yield_default_length(json, request.sampling);
  const char* top_field = endpoint == Endpoint::kChat ? "top_logprobs" : "logprobs";
  if (Status status = check_answers(read->requests, context, top_field); !status)
    return status.error();
  return read;
}

Result<FimForm> fim_form_for(const Model& model) {
  if (!model.has_tokenizer()) return unsupported("the model has no tokenizer");
  return fim_form_of(*tokenizer_of(model));
}

Result<std::unique_ptr<Body>> read_completions_body(const Json& json, const BodyContext& context) {
  return read_body(Endpoint::kCompletions, json, context);
}

Result<std::unique_ptr<Body>> read_fim_body(const Json& json, const BodyContext& context) {
  ChatDraft draft;
  if (Status status = draft.copy(json, kFimFields); !status) return status.error();
  const bool has_length = draft.chat.contains("max_tokens");
  if (!has_length) draft.chat["max_tokens"] = context.context;
  Result<OpenAiRequest> read = read_openai_request(Endpoint::kCompletions, draft.chat, context);
  if (!read) return draft.translated(read.error());
  if (!has_length) read->length_field = nullptr;
  auto body = std::make_unique<OpenAiBody>(context);
  body->answers_as_chat = true;
  if (Status status = body->take(std::move(*read), context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

Result<std::unique_ptr<Body>> read_chat_body(const Json& json, const BodyContext& context) {
  return read_body(Endpoint::kChat, json, context);
}

Result<std::unique_ptr<Body>> read_embeddings_body(const Json& json, const BodyContext& context) {
  return read_body(Endpoint::kEmbeddings, json, context);
}

}  // namespace pando::ask
