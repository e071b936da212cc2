// Bodies of Anthropic's Messages API: as bodies of a chat, and their answers.
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ask/anthropic_draft.h"
#include "ask/body.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

using Plain = nlohmann::json;  // members have no order

const Plain kAsked = {{"max_tokens", 9}, {"messages", {{{"role", "user"}, {"content", "Q"}}}}};

Plain updated(Plain body, const Plain& more) {
  body.update(more);
  return body;
}

Result<ask::AnthropicDraft> drafted(const Plain& body) {
  return ask::draft_of_anthropic(Json(body), ask::AnthropicCall::kMessage);
}

// The chat body without what kAsked has of itself.
Plain drafted_chat(const Plain& more) {
  const auto translated = drafted(updated(kAsked, more));
  EXPECT_TRUE(translated.ok()) << translated.error().message();
  Plain chat = Plain::parse(json_text(translated->draft.chat));
  chat.erase("max_tokens");
  if (!more.contains("messages") && !more.contains("system")) chat.erase("messages");
  return chat;
}

Error refusal(const Plain& more) {
  const auto translated = drafted(updated(kAsked, more));
  EXPECT_FALSE(translated.ok()) << more;
  return translated.ok() ? Error() : translated.error();
}

Error refusal_of_content(const std::string& role, const Plain& content) {
  return refusal({{"messages", {{{"role", role}, {"content", content}}}}});
}

TEST(AnthropicDraft, FieldsGetTheirNames) {
  EXPECT_EQ(drafted_chat({{"stop_sequences", {"a"}},
                          {"stream", true},
                          {"temperature", 0.5},
                          {"top_k", 5},
                          {"top_p", 0.5},
                          {"metadata", {{"user_id", "u"}}},
                          {"service_tier", "auto"},
                          {"cache_control", {{"type", "ephemeral"}}},
                          {"tools", nullptr}}),
            Plain::parse(R"({"stop": ["a"], "stream": true, "temperature": 0.5, "top_k": 5,
                             "top_p": 0.5})"));
  EXPECT_EQ(
      drafted_chat({{"output_config",
                     {{"effort", "max"},
                      {"format", {{"type", "json_schema"}, {"schema", {{"type", "object"}}}}}}}}),
      Plain::parse(R"({"reasoning_effort": "xhigh", "response_format":
                             {"type": "json_schema", "schema": {"type": "object"}}})"));
  EXPECT_EQ(drafted_chat({{"output_format", {{"type", "json_schema"}, {"schema", true}}}}),
            Plain::parse(R"({"response_format": {"type": "json_schema", "schema": true}})"));
}

TEST(AnthropicDraft, BlocksBecomeMessages) {
  const Plain body = Plain::parse(R"({
    "system": [{"type": "text", "text": "S", "cache_control": {"type": "ephemeral"}}],
    "messages": [
      {"role": "user", "content": "One"},
      {"role": "user", "content": [{"type": "text", "text": "two"}]},
      {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "A", "citations": null},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}, "caller": null},
        {"type": "tool_use", "id": "t2", "name": "g", "input": {}}]},
      {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t1", "content": "R"},
        {"type": "tool_result", "tool_use_id": "t2", "is_error": true,
         "content": [{"type": "text", "text": "no"}, {"type": "text", "text": "way"}]},
        {"type": "tool_result", "tool_use_id": "t3"},
        {"type": "text", "text": "And?"}]}]})");
  EXPECT_EQ(drafted_chat(body)["messages"], Plain::parse(R"([
    {"role": "system", "content": "S"},
    {"role": "user", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]},
    {"role": "assistant", "content": "A", "reasoning_content": "Hm", "tool_calls": [
      {"id": "t1", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
      {"id": "t2", "type": "function", "function": {"name": "g", "arguments": {}}}]},
    {"role": "tool", "tool_call_id": "t1", "content": "R"},
    {"role": "tool", "tool_call_id": "t2",
     "content": [{"type": "text", "text": "Error: no"}, {"type": "text", "text": "way"}]},
    {"role": "tool", "tool_call_id": "t3", "content": ""},
    {"role": "user", "content": "And?"}])"));
}

TEST(AnthropicDraft, ALastMessageOfTheAssistantGoesOn) {
  const Plain asked = {{"role", "user"}, {"content", "Q"}},
              begun = {{"role", "assistant"}, {"content", "The"}};
  EXPECT_FALSE(
      drafted_chat({{"messages", {asked, begun, asked}}}).contains("continue_final_message"));
  EXPECT_EQ(drafted_chat({{"messages", {asked, begun}}})["continue_final_message"], true);
}

TEST(AnthropicDraft, ToolsAndTheirChoice) {
  const Plain chat = drafted_chat({{"tools",
                                    {{{"name", "f"},
                                      {"description", "F"},
                                      {"input_schema", {{"type", "object"}}},
                                      {"cache_control", {{"type", "ephemeral"}}},
                                      {"type", "custom"}},
                                     {{"name", "g"}, {"input_schema", Plain::object()}}}},
                                   {"tool_choice", {{"type", "auto"}}}});
  EXPECT_EQ(chat["tools"], Plain::parse(R"([
    {"type": "function", "function": {"name": "f", "description": "F",
                                      "parameters": {"type": "object"}}},
    {"type": "function", "function": {"name": "g", "parameters": {}}}])"));
  EXPECT_EQ(chat["tool_choice"], "auto");
  EXPECT_EQ(drafted_chat({{"tool_choice", {{"type", "any"}, {"disable_parallel_tool_use", true}}}}),
            Plain::parse(R"({"tool_choice": "required", "parallel_tool_calls": false})"));
  EXPECT_EQ(drafted_chat({{"tool_choice", {{"type", "none"}}}})["tool_choice"], "none");
  EXPECT_EQ(drafted_chat({{"tool_choice", {{"type", "tool"}, {"name", "f"}}}})["tool_choice"],
            Plain::parse(R"({"type": "function", "function": {"name": "f"}})"));
}

TEST(AnthropicDraft, Thinking) {
  EXPECT_EQ(drafted_chat({{"thinking", {{"type", "enabled"}, {"budget_tokens", 1024}}}}),
            Plain::parse(R"({"thinking_budget": 1024})"));
  EXPECT_EQ(
      drafted_chat({{"thinking", {{"type", "disabled"}}}, {"chat_template_kwargs", {{"a", 1}}}}),
      Plain::parse(R"({"chat_template_kwargs": {"a": 1, "enable_thinking": false}})"));
  const auto adaptive =
      drafted(updated(kAsked, {{"thinking", {{"type", "adaptive"}, {"display", "omitted"}}}}))
          .value();
  EXPECT_TRUE(adaptive.wants_thinking);
  EXPECT_FALSE(adaptive.shows_thinking);
  EXPECT_FALSE(adaptive.draft.chat.contains("chat_template_kwargs"));
  const Plain enabled = {{"type", "enabled"}, {"budget_tokens", 1024}};
  EXPECT_TRUE(drafted(updated(kAsked, {{"thinking", enabled}}))->wants_thinking);
  EXPECT_FALSE(drafted(updated(kAsked, {{"thinking", {{"type", "disabled"}}}}))->wants_thinking);
}

TEST(AnthropicDraft, ErrorsNameThePlace) {
  EXPECT_EQ(drafted({{"messages", kAsked["messages"]}}).error().message(),
            "the body has no 'max_tokens'");
  EXPECT_EQ(refusal({{"max_token", 1}}).place.field, "max_token");
  EXPECT_EQ(refusal({{"messages", Plain::array()}}).place.field, "messages");
  EXPECT_EQ(refusal({{"messages", {1}}}).place.field, "messages[0]");
  EXPECT_EQ(refusal_of_content("tool", "x").place.field, "messages[0].role");
  EXPECT_EQ(refusal_of_content("user", nullptr).place.field, "messages[0].content");
  EXPECT_EQ(refusal_of_content("user", 5).message(),
            "field 'messages[0].content' is 5, expected a string or a list of blocks");
  EXPECT_EQ(refusal_of_content("user", {{{"type", "image"}, {"source", nullptr}}}).message(),
            "messages[0].content[0] has an image ('image'), but Pando reads only text");
  EXPECT_EQ(refusal_of_content("user", {{{"type", "document"}}}).message(),
            "field 'messages[0].content[0].type' is \"document\", expected text or tool_result");
  EXPECT_EQ(refusal_of_content("user", {{{"type", "tool_use"}}}).place.field,
            "messages[0].content[0].type");
  EXPECT_EQ(refusal_of_content("user", {{{"type", "text"}}}).place.field,
            "messages[0].content[0].text");
  EXPECT_EQ(
      refusal_of_content(
          "user",
          {{{"type", "tool_result"}, {"tool_use_id", "t"}, {"content", {{{"type", "image"}}}}}})
          .place.field,
      "messages[0].content[0].content[0].type");
  const Plain call = {{"type", "tool_use"}, {"id", "t"}, {"name", "f"}, {"input", "{}"}};
  EXPECT_EQ(refusal_of_content("assistant", Plain::array({call})).place.field,
            "messages[0].content[0].input");
  EXPECT_EQ(
      refusal_of_content("assistant", Plain::array({updated(call, {{"input", Plain::object()}})}))
          .message(),
      "the last message calls a tool, expected a 'tool_result' in a message behind it");
  EXPECT_EQ(refusal({{"system", {{{"type", "image"}}}}}).message(),
            "system[0] has an image ('image'), but Pando reads only text");
  EXPECT_EQ(refusal({{"tools", {{{"type", "web_search_20250305"}, {"name", "w"}}}}}).message(),
            "field 'tools[0].type' is \"web_search_20250305\", expected \"custom\", because this "
            "server runs no tools of its own");
  EXPECT_EQ(refusal({{"tools", {{{"name", "f"}}}}}).place.field, "tools[0].input_schema");
  EXPECT_EQ(refusal({{"tool_choice", {{"type", "some"}}}}).place.field, "tool_choice.type");
  EXPECT_EQ(refusal({{"tool_choice", {{"type", "tool"}}}}).place.field, "tool_choice.name");
  EXPECT_EQ(refusal({{"thinking", {{"type", "enabled"}}}}).place.field, "thinking.budget_tokens");
}

std::unique_ptr<ask::Body> anthropic_body(const Plain& more) {
  ask::Bounds bounds;
  const std::function<bool()> given_up = [] { return false; };
  auto body = ask::read_anthropic_body(Json(updated(kAsked, more)), {.model = *tiny_model(),
                                                                     .context = 640,
                                                                     .max_answers = 8,
                                                                     .envelope = {"1", 0, "m", ""},
                                                                     .bounds = bounds,
                                                                     .defaults = {},
                                                                     .given_up = given_up});
  EXPECT_TRUE(body.ok()) << body.error().message();
  return std::move(*body);
}

Completion full_completion() {
  return {.text = "Hi",
          .reasoning = "Hm",
          .calls = {{"t1", "f", R"({"x": 1})"}},
          .tokens = {1, 2, 3},
          .finish_reason = FinishReason::kStop,
          .prompt_tokens = 5,
          .shared_tokens = 2};
}

Plain answer_of(const Completion& completion, const Plain& more = Plain::object()) {
  const auto body = anthropic_body(more);
  body->on_event(0, Event{.completion = completion});
  return Plain::parse(json_text(body->answer()));
}

TEST(AnthropicBody, AnAnswer) {
  EXPECT_EQ(answer_of(full_completion()), Plain::parse(R"({
    "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
    "content": [{"type": "thinking", "thinking": "Hm", "signature": ""},
                {"type": "text", "text": "Hi"},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}}],
    "stop_reason": "tool_use", "stop_sequence": null,
    "usage": {"input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2,
              "output_tokens": 3}})"));
  const Plain omitted =
      answer_of(full_completion(), {{"thinking", {{"type", "adaptive"}, {"display", "omitted"}}}});
  EXPECT_EQ(omitted["content"][0]["thinking"], "");
}

TEST(AnthropicBody, WhyAnAnswerIsOver) {
  const auto reason = [](const Completion& completion) {
    const Plain answer = answer_of(completion);
    return Plain::array({answer["stop_reason"], answer["stop_sequence"]});
  };
  Completion completion = full_completion();
  completion.calls = {};
  EXPECT_EQ(reason(completion), Plain::array({"end_turn", nullptr}));
  completion.stop_text = "\n";
  EXPECT_EQ(reason(completion), Plain::array({"stop_sequence", "\n"}));
  completion.stop_text = "";
  completion.finish_reason = FinishReason::kLength;
  EXPECT_EQ(reason(completion), Plain::array({"model_context_window_exceeded", nullptr}));
  completion.tokens.resize(9);
  EXPECT_EQ(reason(completion), Plain::array({"max_tokens", nullptr}));
}

// The data of events, each of which has its type as its name.
std::vector<Plain> events_of(const std::string& text) {
  std::vector<Plain> events;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find("\n\n", at), data = text.find("\ndata: ", at);
    events.push_back(Plain::parse(text.substr(data + 7, end - data - 7)));
    EXPECT_EQ(text.substr(at, data - at), "event: " + events.back()["type"].get<std::string>());
    at = end + 2;
  }
  return events;
}

TEST(AnthropicBody, AStream) {
  const auto body = anthropic_body({{"stream", true}});
  std::string text = body->begin();
  text += body->on_event(0, Event{.reasoning = "H", .n_tokens = 1});
  text += body->on_event(0, Event{.text = "H", .reasoning = "m", .n_tokens = 2});
  text += body->on_event(0, Event{.text = "i", .n_tokens = 3});
  text += body->on_event(0, Event{.n_tokens = 4});
  text +=
      body->on_event(0, Event{.calls = full_completion().calls, .completion = full_completion()});
  text += body->end();
  const std::vector<Plain> events = events_of(text);
  const Plain expected = Plain::parse(R"([
    {"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
     "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
     "usage": {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
               "output_tokens": 0}}},
    {"type": "content_block_start", "index": 0,
     "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "thinking_delta", "thinking": "H"}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "thinking_delta", "thinking": "m"}},
    {"type": "content_block_delta", "index": 0,
     "delta": {"type": "signature_delta", "signature": ""}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "H"}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "i"}},
    {"type": "content_block_stop", "index": 1},
    {"type": "content_block_start", "index": 2,
     "content_block": {"type": "tool_use", "id": "t1", "name": "f", "input": {}}},
    {"type": "content_block_delta", "index": 2,
     "delta": {"type": "input_json_delta", "partial_json": "{\"x\": 1}"}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
     "usage": {"input_tokens": 3, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 2,
               "output_tokens": 3}},
    {"type": "message_stop"}])");
  ASSERT_EQ(events.size(), expected.size()) << text;
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i], expected[i]) << i;
}

// Errors of the chat, of its reader and of its template.
TEST(AnthropicBody, ErrorsOfTheChatNameThePlaceInTheBody) {
  const auto body = anthropic_body({{"system", "S"}});
  EXPECT_EQ(body->translated({.place = {.field = "messages[1].content"}}).place.field,
            "messages[0].content");
  EXPECT_EQ(body->translated({.place = {.field = "messages[0]"}}).place.field, "system");
  const auto with_call = anthropic_body({{"messages", Plain::parse(R"([
    {"role": "user", "content": "Q"},
    {"role": "assistant", "content": [{"type": "text", "text": "A"},
      {"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}])")}});
  const auto place = [&](const char* field) {
    return with_call->translated({.place = {.field = field}}).place.field;
  };
  EXPECT_EQ(place("messages[1].tool_calls[0].function.arguments"), "messages[1].content[1].input");
  EXPECT_EQ(place("messages[1].tool_calls[0].function.name"), "messages[1].content[1].name");
  EXPECT_EQ(place("messages[2].content"), "messages[2].content[0].content");
}

}  // namespace
}  // namespace pando::testing
