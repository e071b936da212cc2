// What of a body is a conversation, as it is written.
#include "wire/chat_fields.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json.h"

namespace pando::wire {
namespace {

TEST(ChatFields, KeysAndDigitsAsTheyAreWritten) {
  const std::string text =
      R"({"tools":[{"z":18446744073709551616,"a":1.5}],"body":{"tools":[],"documents":[{"b":2,"a":1}]}})";
  const nlohmann::json body = *parse_json(text);
  const WrittenOrder order(text);
  EXPECT_EQ(order.of("tools", body["tools"]), R"([{"z":18446744073709551616,"a":1.5}])");
  EXPECT_EQ(order.of("documents", body["body"]["documents"]), R"([{"b":2,"a":1}])");
  EXPECT_EQ(order.of_each("documents", body["body"]["documents"]),
            std::vector<std::string>{R"({"b":2,"a":1})"});
  EXPECT_EQ(order.of("x", body["body"]["documents"]), R"([{"a":1,"b":2}])");
  EXPECT_EQ(WrittenOrder().of("documents", body["body"]["documents"]), R"([{"a":1,"b":2}])");
}

TEST(ChatFields, MessagesKeepDigits) {
  const std::string text =
      R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"n":123456789012345678901234567890,"a":1}]}]})";
  const auto messages = parse_messages((*parse_json(text))["messages"], WrittenOrder(text));
  ASSERT_TRUE(messages.ok()) << messages.error().message;
  EXPECT_EQ(
      (*messages)[0].fields,
      R"({"role":"assistant","tool_calls":[{"n":123456789012345678901234567890,"a":1}],"content":null})");
}

TEST(ChatFields, ThinkingInTemplateArguments) {
  const auto options_of = [](const char* text) {
    const nlohmann::json body = *parse_json(text);
    Fields fields(body);
    ChatOptions options;
    read_chat_options(fields, WrittenOrder(text), options);
    EXPECT_TRUE(fields.status().ok());
    return options;
  };
  EXPECT_TRUE(options_of(R"({"chat_template_kwargs":{"enable_thinking":true}})").thinking);
  const ChatOptions only = options_of(R"({"chat_template_kwargs":{"thinking":true}})");
  EXPECT_FALSE(only.thinking);
  EXPECT_EQ(only.template_kwargs, R"({"thinking":true})");
}

// In every form that clients send them in.
TEST(ChatFields, OnlyTextsAreRead) {
  const auto refused = [](const std::string& content) {
    const std::string text =
        R"({"messages":[{"role":"user","content":"Q"},{"role":"user",)" + content + "}]}";
    const auto messages = parse_messages((*parse_json(text))["messages"], WrittenOrder(text));
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
    EXPECT_EQ(error.message, "message 1 has " + what + ", but Pando reads only text");
    EXPECT_TRUE(error.field.starts_with("messages[1].content[1].")) << error.field;
  }
  const Error beside = refused(R"("content":"See","images":["u"])");
  EXPECT_EQ(beside.message, "message 1 has an image ('images'), but Pando reads only text");
  EXPECT_EQ(beside.field, "messages[1].images");
  EXPECT_EQ(refused(R"("content":[{"type":"profile","text":"x"}])").message,
            "a part of message 1 is of type 'profile', expected 'text'");
}

}  // namespace
}  // namespace pando::wire
