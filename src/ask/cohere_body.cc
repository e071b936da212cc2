// Chats of Cohere's API, version 2.
#include "ask/cohere_body.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "ask/door_body.h"
#include "ask/openai_response.h"
#include "base/errors.h"
#include "base/fields.h"

namespace pando::ask {
namespace {

// The fields after "thinking" change no answer.
constexpr DoorField kCohereFields[] = {{"messages", "messages"},
                                       {"stream", "stream"},
                                       {"max_tokens", "max_tokens"},
                                       {"stop_sequences", "stop"},
                                       {"tools", "tools"},
                                       {"k", "top_k"},
                                       {"p", "top_p"},
                                       {"raw_prompting", "", "false"},
                                       {"logprobs", "", "false"},
                                       {"response_format"},
                                       {"tool_choice"},
                                       {"strict_tools"},
                                       {"documents"},
                                       {"thinking"},
                                       {"citation_options"},
                                       {"safety_mode"}};
Json cohere_usage(const Completion& completion) {
  const Json counts = {{"input_tokens", completion.prompt_tokens},
                       {"output_tokens", completion.tokens.size()}};
  return {
      {"billed_units", counts}, {"tokens", counts}, {"cached_tokens", completion.shared_tokens}};
}

class CohereChatBody : public DoorBody {
 public:
  using DoorBody::DoorBody;

  std::string begin() override {
    return named_event({{"type", "message-start"},
                        {"id", envelope_.id},
                        {"delta",
                         {{"message",
                           {{"role", "assistant"},
                            {"content", Json::array()},
                            {"tool_plan", ""},
                            {"tool_calls", Json::array()},
                            {"citations", Json::array()}}}}}});
  }

  std::string write_event(size_t, const Event& event) override {
    std::string events = add("thinking", event.reasoning);
    events += add("text", event.text);
    for (const ToolCall& call : event.calls) {
      events += close();
      events +=
          of_call("tool-call-start", {{"id", call.id},
                                      {"type", "function"},
                                      {"function", {{"name", call.name}, {"arguments", ""}}}});
      events += of_call("tool-call-delta", {{"function", {{"arguments", call.arguments}}}});
      events += named_event({{"type", "tool-call-end"}, {"index", n_calls_++}});
    }
    return event.completion ? events + close() : events;
  }

  std::string write_answers(size_t) override {
    Json last = {{"type", "message-end"},
                 {"id", envelope_.id},
                 {"delta", {{"finish_reason", reason()}, {"usage", cohere_usage(completed())}}}};
    add_notes(last);
    return named_event(last);
  }

  Json answer() override {
    const Completion& completion = completed();
    Json content = Json::array();
    for (const auto& [type, text] :
         {std::pair{"thinking", &completion.reasoning}, {"text", &completion.text}})
      if (!text->empty()) content.push_back({{"type", type}, {type, *text}});
    Json message = {{"role", "assistant"}, {"content", std::move(content)}};
    if (!completion.calls.empty()) message["tool_calls"] = tool_calls(completion.calls);
    Json json = {{"id", envelope_.id},
                 {"finish_reason", reason()},
                 {"message", std::move(message)},
                 {"usage", cohere_usage(completion)}};
    add_notes(json);
    return json;
  }

 private:
  const char* reason() const {
    const Completion& completion = completed();
    if (completion.finish_reason != FinishReason::kStop) return "MAX_TOKENS";
    if (!completion.calls.empty()) return "TOOL_CALL";
    return completion.stop_text.empty() ? "COMPLETE" : "STOP_SEQUENCE";
  }

  static std::string part(const char* type, size_t index, const char* field, Json value) {
    return named_event(
        {{"type", type}, {"index", index}, {"delta", {{"message", {{field, std::move(value)}}}}}});
  }
  std::string of_call(const char* type, Json call) const {
    return part(type, n_calls_, "tool_calls", std::move(call));
  }
  std::string of_block(const char* type, Json content) const {
    return part(type, n_blocks_, "content", std::move(content));
  }

  // Events for more of the open block, or for a new one.
  std::string add(const char* type, const std::string& text) {
    if (text.empty()) return {};
    std::string events;
    if (open_ != type) {
      events = close();
      open_ = type;
      events += of_block("content-start", {{"type", type}, {type, ""}});
    }
    return events + of_block("content-delta", {{type, text}});
  }
  std::string close() {
    if (open_.empty()) return {};
    open_ = {};
    return named_event({{"type", "content-end"}, {"index", n_blocks_++}});
  }

  std::string_view open_;              // type of the block that a stream is in; empty: none
  size_t n_blocks_ = 0, n_calls_ = 0;  // closed, of a stream
};

// Parts of a message: thinking goes to its own field, and a document is told by its JSON.
void translate_parts(Json& message) {
  const auto content = message.find("content");
  if (content == message.end() || !content->is_array()) return;
  Json parts = Json::array();
  const Json given = std::move(*content);
  for (const Json& part : given) {
    const auto is = [&](const char* type) {
      return part.is_object() && part.contains("type") && is_text(part["type"], type) &&
             part.contains(type);
    };
    if (is("thinking"))
      message["reasoning_content"] = part["thinking"];
    else if (is("document"))
      parts.push_back({{"type", "text"}, {"text", json_text(part["document"])}});
    else
      parts.push_back(part);
  }
  message["content"] = parts.empty() ? Json("") : std::move(parts);
}

// A text, or {"data": text or object, "id"}: as templates read documents.
Json document_of(const Json& document) {
  if (document.is_string()) return {{"text", document}};
  if (!document.is_object() || !document.contains("data")) return document;
  Json made = document["data"].is_object() ? document["data"] : Json{{"text", document["data"]}};
  if (document.contains("id")) made["id"] = document["id"];
  return made;
}

void translate_messages(Json& chat) {
  if (!chat.contains("messages") || !chat["messages"].is_array()) return;
  for (Json& message : chat["messages"]) {
    if (!message.is_object()) continue;
    message.erase("citations");
    translate_parts(message);
  }
}

Status read_thinking_of(const Json& thinking, DoorDraft& door) {
  if (!thinking.is_object())
    return invalid_field("thinking", "is {}, expected an object", found_text(thinking));
  Fields fields(thinking);
  fields.only(std::initializer_list<std::string_view>{"type", "token_budget"});
  std::string type = "enabled";
  fields.text("type", type);
  if (type != "enabled" && type != "disabled") fields.refuse("type", "\"enabled\" or \"disabled\"");
  if (!fields.status()) return in_part("thinking", fields.status().error());
  if (fields.has("token_budget")) {
    door.draft.chat["thinking_budget"] = thinking["token_budget"];
    door.draft.set_origin("thinking_budget", "thinking.token_budget");
  }
  door.thinks = type == "enabled";
  if (!door.thinks) door.draft.set_thinking(false, "thinking");
  return {};
}

Json cohere_error(const HttpError& error) { return {{"message", error.message}}; }

}  // namespace

Result<std::unique_ptr<Body>> read_cohere_chat_body(const Json& json, const BodyContext& context) {
  DoorDraft door;
  if (Status status = door.draft.copy(json, kCohereFields); !status) return status.error();
  Json& chat = door.draft.chat;
  translate_messages(chat);
  Fields fields(json);
  std::string choice;
  bool is_strict = false;
  fields.text("tool_choice", choice);
  fields.flag("strict_tools", is_strict);
  if (!choice.empty() && choice != "REQUIRED" && choice != "NONE")
    fields.fail("tool_choice", json["tool_choice"], "\"REQUIRED\" or \"NONE\"");
  if (fields.has("documents") && !json["documents"].is_array())
    fields.fail("documents", json["documents"], "a list");
  if (fields.has("thinking")) fields.fail(read_thinking_of(json["thinking"], door));
  if (!fields.status()) return fields.status().error();
  if (!choice.empty()) chat["tool_choice"] = choice == "NONE" ? "none" : "required";
  if (is_strict && fields.has("tools"))
    for (Json& tool : chat["tools"])
      if (tool.is_object() && tool.contains("function") && tool["function"].is_object())
        tool["function"]["strict"] = true;
  if (fields.has("documents"))
    for (const Json& document : json["documents"])
      chat["documents"].push_back(document_of(document));
  if (fields.has("response_format")) {
    Json format = json["response_format"];
    if (format.is_object() && format.contains("json_schema")) {
      format["schema"] = format["json_schema"];
      format.erase("json_schema");
    }
    chat["response_format"] = std::move(format);
  }
  return read_door<CohereChatBody>(std::move(door), context);
}

const ErrorForm kCohereErrors = {
    .body = cohere_error, .last_events = [](const HttpError& error) {
      return named_event({{"type", "message-end"},
                          {"delta", {{"finish_reason", "ERROR"}, {"error", error.message}}}});
    }};

}  // namespace pando::ask
