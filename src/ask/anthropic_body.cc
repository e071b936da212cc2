// Bodies of Anthropic's Messages API, and their answers.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "api/model_access.h"
#include "api/prompt.h"
#include "ask/anthropic_draft.h"
#include "ask/body.h"
#include "ask/openai_body.h"
#include "ask/usage.h"
#include "base/errors.h"
#include "base/json.h"

namespace pando::ask {
namespace {

// Cached tokens of the prompt count apart.
Json usage_of(size_t n_prompt, size_t n_cached, size_t n_generated) {
  return {{"input_tokens", n_prompt - n_cached},
          {"cache_creation_input_tokens", 0},
          {"cache_read_input_tokens", n_cached},
          {"output_tokens", n_generated}};
}

// A block of "text" or "thinking", whose text has the name of its type.
Json text_block(const char* type, const std::string& text) {
  Json block = {{"type", type}, {type, text}};
  if (std::string_view(type) == "thinking") block["signature"] = "";
  return block;
}

Json tool_use(const ToolCall& call, Json input) {
  return {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}};
}

class AnthropicBody : public Body {
 public:
  AnthropicBody(const BodyContext& context, AnthropicDraft draft)
      : Body(context), draft_(std::move(draft)) {}

  // There is no `length_field`: an answer for which the context has less room than "max_tokens" is
  // cut, because clients send large defaults.
  Status take(OpenAiRequest read, const BodyContext& context) {
    stream = read.stream;
    serving = std::move(read.serving);
    form_field_ = draft_.draft.origin_of(read.form_field);
    draft_.draft.chat = Json();  // the request has it
    name_requests(read.requests, envelope_.id);
    max_tokens_ = static_cast<size_t>(read.requests[0].sampling.max_tokens);
    return add_question(context, {.request = std::move(read.requests[0])});
  }

  std::string place(size_t) const override { return "messages"; }
  std::string form_place(size_t) const override { return form_field_; }
  Error translated(Error error) const override { return draft_.draft.translated(std::move(error)); }

  std::string begin() override {
    Json message = head();
    message["content"] = Json::array();
    message["stop_reason"] = message["stop_sequence"] = nullptr;
    message["usage"] = usage_of(requests[0].tokens.size(), 0, 0);
    return named_event({{"type", "message_start"}, {"message", std::move(message)}});
  }

  std::string write_event(size_t, const Event& event) override {
    std::string events;
    if (!event.reasoning.empty())
      events += add("thinking", "thinking_delta", draft_.shows_thinking ? event.reasoning : "");
    if (!event.text.empty()) events += add("text", "text_delta", event.text);
    for (const ToolCall& call : event.calls) {
      events += open("tool_use", tool_use(call, Json::object()));
      events += delta({{"type", "input_json_delta"}, {"partial_json", call.arguments}});
    }
    return event.completion ? events + close() : events;
  }

  std::string write_answers(size_t) override {
    Json last = {{"type", "message_delta"}, {"delta", stop()}};
    add_counts(last);
    return named_event(last);
  }

  std::string end() override { return named_event({{"type", "message_stop"}}); }

  Json answer() override {
    const Completion& completion = completed();
    Json message = head();
    Json& content = message["content"] = Json::array();
    if (!completion.reasoning.empty())
      content.push_back(text_block("thinking", draft_.shows_thinking ? completion.reasoning : ""));
    if (!completion.text.empty()) content.push_back(text_block("text", completion.text));
    for (const ToolCall& call : completion.calls)
      content.push_back(tool_use(call, written_json(call.arguments)));
    message.update(stop());
    add_counts(message);
    return message;
  }

 private:
  const Completion& completed() const { return completions().all()[0][0]; }

  Json head() const {
    return {{"id", "msg_" + envelope_.id},
            {"type", "message"},
            {"role", "assistant"},
            {"model", envelope_.model}};
  }

  Json stop() const {
    const Completion& completion = completed();
    const char* reason = !completion.calls.empty()      ? "tool_use"
                         : completion.stop_text.empty() ? "end_turn"
                                                        : "stop_sequence";
    if (completion.finish_reason != FinishReason::kStop)
      reason =
          completion.tokens.size() < max_tokens_ ? "model_context_window_exceeded" : "max_tokens";
    const std::string& text = completion.stop_text;
    return {{"stop_reason", reason}, {"stop_sequence", text.empty() ? Json(nullptr) : Json(text)}};
  }

  // Adds what an answer says of its tokens and of what is odd.
  void add_counts(Json& json) const {
    const Completion& completion = completed();
    json["usage"] =
        usage_of(static_cast<size_t>(completion.prompt_tokens),
                 static_cast<size_t>(completion.shared_tokens), completion.tokens.size());
    if (serving.sharing) json["sharing"] = SharingCounts(completions().all()).json();
    add_warnings(json);
    if (!envelope_.warning.empty()) json["wrong"] = envelope_.warning;
  }

  // Events of a stream for more of the open block, or for a new one.
  std::string add(const char* type, const char* delta_type, const std::string& text) {
    const std::string begun = open_ == type ? "" : open(type, text_block(type, ""));
    return text.empty() ? begun : begun + delta({{"type", delta_type}, {type, text}});
  }
  std::string open(const char* type, const Json& block) {
    const std::string closed = close();
    open_ = type;
    return closed +
           named_event(
               {{"type", "content_block_start"}, {"index", n_blocks_}, {"content_block", block}});
  }
  std::string delta(const Json& delta) const {
    return named_event({{"type", "content_block_delta"}, {"index", n_blocks_}, {"delta", delta}});
  }
  std::string close() {
    if (open_.empty()) return {};
    std::string events;
    if (open_ == "thinking") events = delta({{"type", "signature_delta"}, {"signature", ""}});
    open_ = {};
    return events + named_event({{"type", "content_block_stop"}, {"index", n_blocks_++}});
  }

  AnthropicDraft draft_;
  std::string form_field_;
  size_t max_tokens_ = 0;  // as asked
  std::string_view open_;  // type of the block that a stream is in; empty: none
  size_t n_blocks_ = 0;    // closed, of a stream
};

// Reads what a body asks for as a chat.
Result<OpenAiRequest> read_draft(const AnthropicDraft& draft, const BodyContext& context) {
  Result<OpenAiRequest> read = read_openai_request(Endpoint::kChat, draft.draft.chat, context);
  if (!read) return draft.draft.translated(read.error());
  const Result<ChatTemplate>& chat = chat_template_of(context.model);
  if (draft.wants_thinking && chat && chat->has_thinking_switch())
    read->requests[0].chat.thinking = true;
  return read;
}

}  // namespace

Result<std::unique_ptr<Body>> read_anthropic_body(const Json& json, const BodyContext& context) {
  Result<AnthropicDraft> draft = draft_of_anthropic(json, AnthropicCall::kMessage);
  if (!draft) return draft.error();
  Result<OpenAiRequest> read = read_draft(*draft, context);
  if (!read) return read.error();
  auto body = std::make_unique<AnthropicBody>(context, std::move(*draft));
  if (Status status = body->take(std::move(*read), context); !status) return status.error();
  return std::unique_ptr<Body>(std::move(body));
}

Result<Json> count_anthropic_tokens(const Json& json, const BodyContext& context) {
  const Result<AnthropicDraft> draft = draft_of_anthropic(json, AnthropicCall::kCountTokens);
  if (!draft) return draft.error();
  const Result<OpenAiRequest> read = read_draft(*draft, context);
  if (!read) return read.error();
  const Result<std::vector<Token>> tokens = encode_prompt(context.model, read->requests[0]);
  if (tokens) return Json{{"input_tokens", tokens->size()}};
  const Error error = draft->draft.translated(tokens.error());
  return error.place.field.empty() ? blame("messages", error) : error;
}

}  // namespace pando::ask
