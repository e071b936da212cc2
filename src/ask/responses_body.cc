#include "ask/responses_body.h"

#include <memory>
#include <optional>
#include <utility>

#include "api/model_access.h"
#include "ask/body.h"
#include "ask/logprobs.h"
#include "ask/openai_body.h"
#include "ask/responses_request.h"
#include "ask/stream_event.h"
#include "ask/usage.h"
#include "base/json.h"

namespace pando::ask {
namespace {

// An item of the output that is a text, and the events that tell it.
struct TextKind {
  const char* id;    // its id begins with this
  const char* part;  // type of its only part
  std::string text_events() const { return fmt::format("response.{}", part); }
};
constexpr TextKind kReasoningItem = {"rs", "reasoning_text"}, kMessageItem = {"msg", "output_text"};

Json text_part(const TextKind& kind, const std::string& text, Json logprobs) {
  Json part = {{"type", kind.part}, {"text", text}};
  if (&kind == &kMessageItem) {
    part["annotations"] = Json::array();
    part["logprobs"] = std::move(logprobs);
  }
  return part;
}

// The item with these parts.
Json text_item(const TextKind& kind, const std::string& id, const char* status, Json parts) {
  if (&kind == &kMessageItem)
    return {{"type", "message"},
            {"id", id},
            {"status", status},
            {"role", "assistant"},
            {"content", std::move(parts)}};
  return {{"type", "reasoning"},
          {"id", id},
          {"status", status},
          {"summary", Json::array()},
          {"content", std::move(parts)}};
}

// A field of the body, as the answer repeats it.
Json repeated(const Json& body, const char* name, Json otherwise = nullptr) {
  const auto given = body.find(name);
  return given == body.end() || given->is_null() ? std::move(otherwise) : *given;
}

class ResponsesBody : public Body {
 public:
  ResponsesBody(const Json& json, const BodyContext& context, ResponsesRequest translated)
      : Body(context),
        model_(context.model),
        store_(context.responses),
        isolation_key_(context.isolation_key),
        previous_(std::move(translated.previous)),
        input_(std::move(translated.input)),
        draft_(std::move(translated.draft)),
        head_(head_of(json)) {
    is_stored = translated.is_stored && store_ != nullptr;
    counts_reasoning = true;
    head_["store"] = is_stored;
  }

  Status take(OpenAiRequest read, const BodyContext& context) {
    stream = read.stream;
    serving = std::move(read.serving);
    if (read.length_field != nullptr) length_field = "max_output_tokens";
    name_requests(read.requests, envelope_.id);
    const SamplingOptions& sampling = read.requests[0].sampling;
    head_["temperature"] = sampling.temperature;
    head_["top_p"] = sampling.top_p;
    return add_question(context, {.request = std::move(read.requests[0])});
  }

  std::string place(size_t) const override { return "input"; }
  std::string form_place(size_t) const override { return "text.format"; }
  Error translated(Error error) const override { return draft_.translated(std::move(error)); }

  std::string begin() override {
    const Json response = response_object("in_progress");
    tell("response.created", {{"response", response}});
    tell("response.in_progress", {{"response", response}});
    return told();
  }

  // Reasoning may go on behind a text, so both end with the answer. Calls are told then, behind
  // them, as in a whole answer.
  std::string write_event(size_t, const Event& one) override {
    add_text(reasoning_, one.reasoning);
    add_text(message_, one.text);
    if (!one.completion) return told();
    const Completion& completion = *one.completion;
    if (!reasoning_.index && !message_.index && completion.calls.empty()) begin_text(message_);
    const bool is_reasoning_last = !message_.index && completion.calls.empty();
    const auto end_reasoning = [&] {
      end_text(reasoning_, is_reasoning_last ? status_of(completion) : "completed", Json::array());
    };
    if (!is_text_first()) end_reasoning();
    end_text(message_, status_of(completion), logprobs_of(completion));
    if (is_text_first()) end_reasoning();
    for (size_t i = 0; i < completion.calls.size(); ++i) tell_call(completion, i);
    return told();
  }

  std::string end() override {
    const char* name = is_complete() ? "response.completed" : "response.incomplete";
    tell(name, {{"response", response_}});
    return told();
  }

  std::string fail(const HttpError& error) override {
    Json response = response_object("failed");
    response["error"] = {{"code", "server_error"}, {"message", error.message}};
    tell("response.failed", {{"response", std::move(response)}});
    return told();
  }

  Status finish() override {
    response_ = finished();
    if (!is_stored) return {};
    const Status status = store_->add(isolation_key_, {.id = id(),
                                                       .previous = previous_,
                                                       .input = json_text(input_),
                                                       .response = json_text(response_)});
    if (status || status.error().code != ErrorCode::kTooLong) return status;
    response_["store"] = false;
    warn("store", status.error().message());
    add_warnings(response_);
    return {};
  }

  Json answer() override { return std::move(response_); }

 private:
  // A text of a stream.
  struct StreamedText {
    const TextKind& kind;
    std::optional<size_t> index = {};  // of its item in the output; absent: it has not begun
    std::string text = {};
  };

  std::string id() const { return "resp_" + envelope_.id; }
  std::string item_id(const TextKind& kind) const { return kind.id + ("_" + envelope_.id); }

  // The fields of its request that an answer repeats.
  static Json head_of(const Json& body) {
    Json tools = repeated(body, "tools", Json::array());
    for (Json& tool : tools)
      if (tool.is_object())
        for (const char* name : {"parameters", "strict"}) tool.emplace(name, nullptr);
    const Json text = repeated(body, "text", Json::object());
    const Json reasoning = repeated(body, "reasoning", Json::object());
    Json head = Json::object();
    for (const char* name :
         {"instructions", "max_output_tokens", "max_tool_calls", "previous_response_id",
          "prompt_cache_key", "safety_identifier", "user"})
      head[name] = repeated(body, name);
    head["background"] = false;
    head["metadata"] = repeated(body, "metadata", Json::object());
    head["parallel_tool_calls"] = repeated(body, "parallel_tool_calls", true);
    head["reasoning"] = {{"effort", repeated(reasoning, "effort")},
                         {"summary", repeated(reasoning, "summary")}};
    head["service_tier"] = "default";
    head["text"] = {{"format", repeated(text, "format", {{"type", "text"}})},
                    {"verbosity", repeated(text, "verbosity", "medium")}};
    head["tool_choice"] = repeated(body, "tool_choice", "auto");
    head["tools"] = std::move(tools);
    head["top_logprobs"] = repeated(body, "top_logprobs", 0);
    head["truncation"] = repeated(body, "truncation", "disabled");
    return head;
  }

  Json response_object(const char* status) const {
    Json response = {{"id", id()},
                     {"object", "response"},
                     {"created_at", envelope_.created},
                     {"status", status},
                     {"error", nullptr},
                     {"incomplete_details", nullptr},
                     {"model", envelope_.model},
                     {"output", Json::array()}};
    response.update(head_);
    response["usage"] = nullptr;
    return response;
  }

  const Completion& completion() const { return completions().all()[0][0]; }
  bool is_complete() const { return completion().finish_reason == FinishReason::kStop; }
  static const char* status_of(const Completion& one) {
    return one.finish_reason == FinishReason::kStop ? "completed" : "incomplete";
  }

  Json logprobs_of(const Completion& one) const {
    if (!requests[0].sampling.logprobs) return Json::array();
    return chat_logprobs(model_, reported_logprobs(model_, requests[0], one))["content"];
  }

  Json finished() const {
    const Completion& one = completion();
    Json response = response_object(status_of(one));
    if (!is_complete()) response["incomplete_details"] = {{"reason", "max_output_tokens"}};
    Json& output = response["output"];
    const bool has_text = !one.text.empty() || (one.reasoning.empty() && one.calls.empty());
    if (!one.reasoning.empty())
      output.push_back(text_item(kReasoningItem, item_id(kReasoningItem),
                                 has_text || !one.calls.empty() ? "completed" : status_of(one),
                                 Json::array({text_part(kReasoningItem, one.reasoning, nullptr)})));
    if (has_text)
      output.push_back(
          text_item(kMessageItem, item_id(kMessageItem), status_of(one),
                    Json::array({text_part(kMessageItem, one.text, logprobs_of(one))})));
    if (output.size() == 2 && is_text_first()) std::swap(output[0], output[1]);
    for (size_t i = 0; i < one.calls.size(); ++i)
      output.push_back(call_item(one, i, one.calls[i].arguments, "completed"));
    response["usage"] = usage();
    if (!envelope_.warning.empty()) response["wrong"] = envelope_.warning;
    if (serving.sharing) response["sharing"] = SharingCounts(completions().all()).json();
    add_warnings(response);
    return response;
  }

  Json usage() const {
    const UsageCounts counts(completions().all());
    return {{"input_tokens", counts.n_prompt},
            {"input_tokens_details",
             {{"cached_tokens", counts.n_cached},
              {"cache_write_tokens", serving.cached ? counts.n_prompt - counts.n_cached : 0}}},
            {"output_tokens", counts.n_generated},
            {"output_tokens_details", {{"reasoning_tokens", n_reasoning()}}},
            {"total_tokens", counts.n_prompt + counts.n_generated}};
  }

  // As the tokenizer counts the text.
  uint64_t n_reasoning() const {
    const std::string& text = completion().reasoning;
    if (text.empty() || !model_.has_tokenizer()) return 0;
    const auto tokens = tokenizer_of(model_)->encode(text, /*add_bos=*/false);
    return tokens ? std::min(tokens->size(), completion().tokens.size()) : 0;
  }

  // Adds an event to those that go out next.
  void tell(const std::string& type, const Json& fields) {
    Json json = {{"type", type}, {"sequence_number", n_events_++}};
    json.update(fields);
    events_ += named_event(json);
  }
  std::string told() { return std::exchange(events_, {}); }

  // An event of a text or of its part.
  void tell_text(const StreamedText& text, const std::string& type, const Json& fields) {
    Json all = {
        {"item_id", item_id(text.kind)}, {"output_index", *text.index}, {"content_index", 0}};
    all.update(fields);
    tell(type, all);
  }

  void tell_item(const char* type, size_t index, Json item) {
    tell(type, {{"output_index", index}, {"item", std::move(item)}});
  }

  // True if the reasoning of a streamed answer began after its text.
  bool is_text_first() const { return message_.index && reasoning_.index > message_.index; }

  void begin_text(StreamedText& text) {
    text.index = n_items_++;
    const TextKind& kind = text.kind;
    tell_item("response.output_item.added", *text.index,
              text_item(kind, item_id(kind), "in_progress", Json::array()));
    tell_text(text, "response.content_part.added", {{"part", text_part(kind, "", Json::array())}});
  }

  void add_text(StreamedText& text, const std::string& more) {
    if (more.empty()) return;
    if (!text.index) begin_text(text);
    text.text += more;
    Json fields = {{"delta", more}};
    if (&text.kind == &kMessageItem) fields["logprobs"] = Json::array();
    tell_text(text, text.kind.text_events() + ".delta", fields);
  }

  void end_text(const StreamedText& text, const char* status, Json logprobs) {
    if (!text.index) return;
    const TextKind& kind = text.kind;
    Json fields = {{"text", text.text}};
    if (&kind == &kMessageItem) fields["logprobs"] = logprobs;
    const Json part = text_part(kind, text.text, std::move(logprobs));
    tell_text(text, kind.text_events() + ".done", fields);
    tell_text(text, "response.content_part.done", {{"part", part}});
    tell_item("response.output_item.done", *text.index,
              text_item(kind, item_id(kind), status, Json::array({part})));
  }

  Json call_item(const Completion& one, size_t index, const std::string& arguments,
                 const char* status) const {
    return {{"type", "function_call"},        {"id", fmt::format("fc_{}_{}", envelope_.id, index)},
            {"call_id", one.calls[index].id}, {"name", one.calls[index].name},
            {"arguments", arguments},         {"status", status}};
  }

  void tell_call(const Completion& one, size_t index) {
    const size_t output_index = n_items_++;
    const std::string& arguments = one.calls[index].arguments;
    const Json item = call_item(one, index, arguments, "completed");
    Json place = {{"item_id", item["id"]}, {"output_index", output_index}};
    tell_item("response.output_item.added", output_index, call_item(one, index, "", "in_progress"));
    Json delta = place;
    delta["delta"] = arguments;
    tell("response.function_call_arguments.delta", delta);
    place["name"] = one.calls[index].name;
    place["arguments"] = arguments;
    tell("response.function_call_arguments.done", place);
    tell_item("response.output_item.done", output_index, item);
  }

  const Model& model_;
  ResponseStore* const store_;
  const uint64_t isolation_key_;
  const std::string previous_;
  const Json input_;
  const ChatDraft draft_;
  Json head_;      // the answer repeats this of its request
  Json response_;  // the whole answer, once it is there
  StreamedText reasoning_{kReasoningItem}, message_{kMessageItem};
  size_t n_events_ = 0, n_items_ = 0;  // of a stream
  std::string events_;                 // that go out next
};

Json responses_error_event(const HttpError& error) {
  return {{"type", "error"},
          {"sequence_number", error.n_events},
          {"code", error.code},
          {"message", error.message},
          {"param", error.param.empty() ? Json(nullptr) : Json(error.param)}};
}

}  // namespace

const ErrorForm kResponsesErrors = {.body = kOpenAiErrors.body,
                                    .last_events = [](const HttpError& error) {
                                      return named_event(responses_error_event(error));
                                    }};

Result<std::unique_ptr<Body>> read_responses_body(const Json& json, const BodyContext& context) {
  Result<ResponsesRequest> translated =
      translate_responses_body(json, {.id = context.envelope.id,
                                      .bounds = context.bounds,
                                      .store = context.responses,
                                      .isolation_key = context.isolation_key});
  if (!translated) return translated.error();
  ChatDraft& draft = translated->draft;
  Result<OpenAiRequest> read = read_openai_request(Endpoint::kChat, draft.chat, context);
  if (!read) return draft.translated(read.error());
  draft.chat = Json();  // the request has it
  auto body = std::make_unique<ResponsesBody>(json, context, std::move(*translated));
  if (Status status = body->take(std::move(*read), context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

}  // namespace pando::ask
