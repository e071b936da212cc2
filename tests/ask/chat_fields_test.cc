// These fields of a body are a conversation, as it is written.
#include "ask/chat_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace pando::ask {
namespace {

Json body_of(std::string_view text) { return parse_json(text, LargeNumbers::kKept).value(); }

TEST(ChatFields, MessagesKeepDigits) {
  const std::string text =
      R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"n":123456789012345678901234567890,"a":1}]}]})";
  const auto messages = read_messages(body_of(text)["messages"]);
  ASSERT_TRUE(messages.ok()) << messages.error().message();
  EXPECT_EQ(
      (*messages)[0].fields.text(),
      R"({"role":"assistant","tool_calls":[{"n":123456789012345678901234567890,"a":1}],"content":null})");
}

TEST(ChatFields, ThinkingInTemplateArguments) {
  const auto options_of = [](const char* text) {
    const Json body = body_of(text);
    Fields fields(body);
    ChatOptions options;
    CallOptions calling;
    read_chat_options(fields, options, calling);
    EXPECT_TRUE(fields.status().ok());
    return options;
  };
  EXPECT_TRUE(options_of(R"({"chat_template_kwargs":{"enable_thinking":true}})").thinking);
  const ChatOptions only = options_of(R"({"chat_template_kwargs":{"thinking":true}})");
  EXPECT_FALSE(only.thinking);
  EXPECT_EQ(only.template_kwargs.text(), R"({"thinking":true})");
}

// Tools in the form of OpenAI's API: {"type": "function", "function": {"name", ...}}.
TEST(ChatFields, ToolsAreFunctions) {
  const auto status_of = [](const std::string& tool) {
    const Json body =
        body_of(R"({"tools":[{"type":"function","function":{"name":"ok"}},)" + tool + "]}");
    Fields fields(body);
    ChatOptions options;
    CallOptions calling;
    read_chat_options(fields, options, calling);
    return fields.status();
  };
  for (const std::string& function :
       std::vector<std::string>{R"({"name":"a-B_9"})", R"({"name":"math.factorial"})",
                                R"({"name":"é"})", R"({"name":")" + std::string(128, 'a') + R"("})",
                                R"({"name":"f","parameters":{},"strict":true,"description":"d"})",
                                R"({"name":"f","parameters":null,"description":null})"})
    EXPECT_TRUE(status_of(R"({"type":"function","function":)" + function + "}").ok()) << function;
  const std::string name = "expected a name";
  for (const auto& [tool, place, expected] : std::vector<std::array<std::string, 3>>{
           {R"({"type":"web_search"})", "type", R"(is "web_search", expected "function")"},
           {R"({"type":"custom","custom":{"name":"f"}})", "type", R"(is "custom", expected)"},
           {R"({"name":"f","input_schema":{}})", "type", R"(is absent, expected "function")"},
           {R"({"function":{"name":"f"}})", "type", "is absent"},
           {R"({"type":5,"function":{"name":"f"}})", "type", "is 5"},
           {R"({"type":"function"})", "function", "is absent, expected an object with a 'name'"},
           {R"({"type":"function","name":"f","parameters":{}})", "function", "is absent"},
           {R"({"type":"function","function":"f"})", "function", R"(is "f", expected an object)"},
           {R"({"type":"function","function":{}})", "function.name", "is absent, " + name},
           {R"({"type":"function","function":{"name":""}})", "function.name", name},
           {R"({"type":"function","function":{"name":5}})", "function.name", "is 5, " + name},
           {R"({"type":"function","function":{"name":"a b"}})", "function.name", name},
           {R"({"type":"function","function":{"name":")" + std::string(129, 'a') + R"("}})",
            "function.name", name},
           {R"({"type":"function","function":{"name":"f","parameters":[]}})", "function.parameters",
            "is [], expected an object"},
           {R"({"type":"function","function":{"name":"f","description":5}})",
            "function.description", "is 5, expected a string"}}) {
    const Status status = status_of(tool);
    ASSERT_FALSE(status.ok()) << tool;
    EXPECT_EQ(status.error().place.field, "tools[1]." + place) << tool;
    EXPECT_TRUE(status.error().message().starts_with("field 'tools[1]." + place + "' " +
                                                     (expected == name ? "" : expected)))
        << status.error().message();
    EXPECT_NE(status.error().message().find(expected), std::string::npos)
        << status.error().message();
  }
}

// The template does not get the fields for other servers' caches.
TEST(ChatFields, CachingIsIgnored) {
  const auto fields_of = [](const std::string& message) {
    const std::string text = R"({"messages":[)" + message + "]}";
    const auto messages = read_messages(body_of(text)["messages"]);
    EXPECT_TRUE(messages.ok()) << messages.error().message();
    return messages.ok() ? std::pair((*messages)[0].content, (*messages)[0].fields)
                         : std::pair<std::string, JsonValue>();
  };
  const std::string marks =
      R"(,"prompt_cache_breakpoint":{"mode":"explicit"},"cache_control":{"type":"ephemeral"})";
  const auto parts = [](const std::string& more) {
    return R"({"role":"user","content":[{"type":"text","text":"a")" + more +
           R"(},{"type":"text","text":"b"}])" + more + "}";
  };
  EXPECT_EQ(fields_of(parts(marks)), fields_of(parts("")));
  EXPECT_EQ(fields_of(parts("")).first, "ab");
  const auto plain = [](const std::string& more) {
    return R"({"role":"user","content":"a")" + more + "}";
  };
  EXPECT_EQ(fields_of(plain(marks)), fields_of(plain("")));
  const auto tools_of = [](const std::string& more) {
    const std::string text = R"({"tools":[{"type":"function","function":{"name":"f")" + more +
                             R"(,"parameters":{"b":1,"a":123456789012345678901}})" + more + "}]}";
    const Json body = body_of(text);
    Fields fields(body);
    ChatOptions options;
    CallOptions calling;
    read_chat_options(fields, options, calling);
    EXPECT_TRUE(fields.status().ok());
    return options.tools;
  };
  EXPECT_EQ(tools_of(marks), tools_of(""));
}

// Templates would write a call without a name, or none at all.
TEST(ChatFields, CallsAreOfFunctions) {
  const auto status_of = [](const std::string& call) -> Status {
    const std::string text =
        R"({"messages":[{"role":"assistant","tool_calls":[{"id":"a"},)" + call + "]}]}";
    const auto messages = read_messages(body_of(text)["messages"]);
    return messages.ok() ? Status() : Status(messages.error());
  };
  for (const std::string call :
       {R"({"type":"function","function":{"name":"f","arguments":"{}"}})",
        R"({"function":{"name":"a.b"}})", R"({"type":"function","name":"f"})",
        R"({"name":"f","arguments":{}})", R"({"type":null,"function":{"name":"f"}})"})
    EXPECT_TRUE(status_of(call).ok()) << call;
  for (const auto& [call, place, found] : std::vector<std::array<std::string, 3>>{
           {R"({"type":"custom","custom":{"name":"f","input":"x"}})", "type", R"("custom")"},
           {R"({"type":"function"})", "function", "absent"},
           {R"({"type":"function","function":"f"})", "function", R"("f")"},
           {R"({"function":[]})", "function", "[]"},
           {R"({"function":{"arguments":"{}"}})", "function.name", "absent"},
           {R"({"function":{"name":null}})", "function.name", "null"},
           {R"({"function":{"name":""}})", "function.name", R"("")"},
           {R"({"name":5,"arguments":{}})", "name", "5"}}) {
    const Status status = status_of(call);
    ASSERT_FALSE(status.ok()) << call;
    const std::string field = "messages[0].tool_calls[1]." + place;
    EXPECT_EQ(status.error().place.field, field) << call;
    EXPECT_TRUE(status.error().message().starts_with("field '" + field + "' is " + found + ", exp"))
        << status.error().message();
  }
}

// In every form that clients send them in.
TEST(ChatFields, OnlyTextsAreRead) {
  const auto refused = [](const std::string& content) {
    const std::string text =
        R"({"messages":[{"role":"user","content":"Q"},{"role":"user",)" + content + "}]}";
    const auto messages = read_messages(body_of(text)["messages"]);
    EXPECT_FALSE(messages.ok()) << content;
    return messages.ok() ? Error{} : messages.error();
  };
  for (const auto& [part, what] : std::map<std::string, std::string>{
           {R"({"type":"image_url","image_url":{"url":"u"}})", "an image ('image_url')"},
           {R"({"type":"input_image","image_url":"u"})", "an image ('input_image')"},
           {R"({"type":"image","source":{}})", "an image ('image')"},
           {R"({"image":"u"})", "an image ('image')"},
           {R"({"type":"video_url","video_url":{}})", "a video ('video_url')"},
           {R"({"type":"input_audio","input_audio":{}})", "audio ('input_audio')"},
           {R"({"type":"file","file":{}})", "a file ('file')"}}) {
    const Error error = refused(R"("content":[{"type":"text","text":"See"},)" + part + "]");
    EXPECT_EQ(error.message(), "message 1 has " + what + ", but Pando reads only text");
    EXPECT_TRUE(error.place.field.starts_with("messages[1].content[1].")) << error.place.field;
  }
  const Error beside = refused(R"("content":"See","images":["u"])");
  EXPECT_EQ(beside.message(), "message 1 has an image ('images'), but Pando reads only text");
  EXPECT_EQ(beside.place.field, "messages[1].images");
  EXPECT_EQ(refused(R"("content":[{"type":"profile","text":"x"}])").message(),
            "a part of message 1 is of type 'profile', expected 'text'");
}

}  // namespace
}  // namespace pando::ask
