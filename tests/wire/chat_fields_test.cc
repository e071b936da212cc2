// What of a body is a conversation, as it is written.
#include "wire/chat_fields.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pando::wire
