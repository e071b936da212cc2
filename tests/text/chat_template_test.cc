// Published templates against `transformers` (tools/chat_golden.py), what templates are given, and
// refusals.
#include "text/chat/chat_template.h"

#include <xxhash.h>

#include <ctime>

#include "base/json_value.h"
#include "json_literal.h"
#include "text/chat_template_testing.h"
#include "text/text_testing.h"

namespace pando::testing::templates {
namespace {

using testing::operator""_value;

using Ordered = nlohmann::ordered_json;

Ordered read_ordered(const char* name) {
  std::ifstream file(std::string(PANDO_SOURCE_DIR "/tests/text/data/") + name);
  return Ordered::parse(file);
}

std::string hash_text(std::string_view text) {
  return fmt::format("{:016x}", static_cast<uint64_t>(XXH3_64bits(text.data(), text.size())));
}

std::vector<ChatMessage> messages_of(const Ordered& conversation) {
  std::vector<ChatMessage> messages;
  for (const Ordered& message : conversation)
    messages.push_back({message["role"], "", json_value(message)});
  return messages;
}

ChatOptions options_of(const Ordered& conversation, const Ordered& entry) {
  ChatOptions options;
  options.add_generation_prompt = conversation["generation_prompt"];
  options.thinking = conversation["thinking"].get<bool>() && entry["switch"].get<bool>();
  if (conversation.contains("tools")) options.tools = json_value(conversation["tools"]);
  if (entry.contains("tools")) options.tools = json_value(entry["tools"]);
  if (conversation.contains("documents")) options.documents = json_value(conversation["documents"]);
  for (const Ordered& name : entry["unread"])
    (name == "tools" ? options.tools : options.documents) = {};
  if (conversation.contains("kwargs")) options.template_kwargs = json_value(conversation["kwargs"]);
  options.now = LocalTime{2024, 2, 9, 13, 5, 7};
  return options;
}

void check_template(const Ordered& entry, const std::string& text, const NamedTokens& tokens,
                    const Ordered& conversations) {
  const std::string name = entry["name"];
  const auto chat = ChatTemplate::from_text(text, name, tokens);
  ASSERT_TRUE(chat.ok()) << chat.error().message();
  EXPECT_EQ(chat->takes_parts(), entry["parts"].get<bool>()) << name;
  EXPECT_EQ(chat->takes_arguments(), entry["arguments"].get<bool>()) << name;
  std::istringstream hashes(entry["renderings"].get<std::string>());
  size_t i = 0;
  for (std::string expected; hashes >> expected; ++i) {
    const Ordered& conversation = conversations[i];
    const Result<std::string> out =
        chat->render(messages_of(conversation["messages"]), options_of(conversation, entry));
    const std::string found = out ? hash_text(*out) : "-";
    EXPECT_EQ(found, expected) << name << ", conversation " << i << ": "
                               << (out ? *out : out.error().message());
  }
  EXPECT_EQ(i, 200u);
}

TEST(ChatTemplate, RendersAsTheReference) {
  const std::filesystem::path folder = PANDO_SHARED_DATA "/chat-templates";
  if (!is_there(folder)) GTEST_SKIP() << folder << " does not exist";
  const Ordered golden = read_ordered("chat_golden.json");
  const Ordered conversations = read_ordered("chat_conversations.json");
  NamedTokens tokens;
  for (const auto& [name, token] : golden["tokens"].items())
    tokens.emplace_back(name, token.get<std::string>());
  for (const Ordered& entry : golden["templates"]) {
    const auto text = read_text_file(folder / (entry["name"].get<std::string>() + ".jinja"));
    ASSERT_TRUE(text.ok()) << text.error().message();
    ASSERT_EQ(hash_text(*text), entry["hash"]) << entry["name"];
    check_template(entry, *text, tokens, conversations);
  }
}

TEST(ChatTemplate, WhatATemplateIsGiven) {
  const ChatTemplate chat = made(
      "{{ bos_token }}{{ messages|tojson }}{{ tools|tojson }}{{ documents|tojson }}"
      "{{ add_generation_prompt }}{{ enable_thinking }}{{ thinking }}{{ extra }}",
      {{"bos_token", "<s>"}});
  ChatOptions options;
  options.tools = R"([{"z": 1, "a": 2}])"_value;
  options.documents = R"([{"title": "t"}])"_value;
  options.template_kwargs = R"({"extra": [1, null], "thinking": "so"})"_value;
  const std::vector<ChatMessage> messages = {
      {"user", "?"},
      {"assistant", "", R"({"tool_calls": [{"id": "1"}], "content": null, "name": null})"_value},
      {"tool", "x", R"({"tool_call_id": "1"})"_value},
      {"assistant", "y", R"({"reasoning": "r"})"_value}};
  EXPECT_EQ(*chat.render(messages, options),
            "<s>[{\"role\": \"user\", \"content\": \"?\"}, {\"role\": \"assistant\", "
            "\"tool_calls\": [{\"id\": \"1\"}]}, {\"role\": \"tool\", \"content\": \"x\", "
            "\"tool_call_id\": \"1\"}, {\"thinking\": \"r\", \"role\": \"assistant\", \"content\": "
            "\"y\", \"reasoning\": \"r\", \"reasoning_content\": \"r\"}]"
            "[{\"z\": 1, \"a\": 2}][{\"title\": \"t\"}]TrueFalseso[1, None]");
}

TEST(ChatTemplate, Thinking) {
  ChatOptions thinking;
  thinking.thinking = true;
  EXPECT_EQ(made("{{ messages[0].content }}").render(kUser, thinking).error().message(),
            "'thinking' is true, but the chat template has no switch for it");
  thinking.template_kwargs = R"({"enable_thinking": true})"_value;
  const auto by_kwargs = made("{{ messages[0].content }}").render(kUser, thinking);
  EXPECT_EQ(by_kwargs.error().message(),
            "'chat_template_kwargs.enable_thinking' is true, but the chat template has no switch "
            "for it");
  EXPECT_EQ(by_kwargs.error().place.field, "chat_template_kwargs.enable_thinking");
  thinking.template_kwargs = R"({"extra": 1})"_value;
  EXPECT_EQ(made("").render(kUser, thinking).error().place.field, "thinking");
  thinking.template_kwargs = {};
  for (const char* name : {"enable_thinking", "thinking"}) {
    const ChatTemplate chat = made(fmt::format("{{{{ {} }}}}", name));
    EXPECT_EQ(*chat.render(kBlank, thinking), "True");
    EXPECT_EQ(*chat.render(kBlank, {}), "False");
  }
}

TEST(ChatTemplate, ThinkingThatIsNoYesOrNo) {
  const ChatTemplate chat = made("{{ reasoning_effort }}");
  EXPECT_EQ(chat.render(kUser, {.thinking = true}).error().message(),
            "'thinking' is true, but the chat template has no switch for it");
  EXPECT_EQ(*chat.render(kBlank, {.template_kwargs = R"({"reasoning_effort": "high"})"_value}),
            "high");
}

TEST(ChatTemplate, LargeNumbersKeepTheirDigits) {
  const ChatTemplate chat = made("{{ tools|tojson }}{{ messages[0].tool_calls }}{{ x }}");
  const std::vector<ChatMessage> messages = {
      {"assistant", "", R"({"tool_calls": [{"n": -123456789012345678901234567890}]})"_value}};
  EXPECT_EQ(*chat.render(messages, {.tools = R"([{"maximum": 18446744073709551615}])"_value,
                                    .template_kwargs = R"({"x": 98765432109876543210})"_value}),
            "[{\"maximum\": 18446744073709551615}][{'n': -123456789012345678901234567890}]"
            "98765432109876543210");
  const ChatTemplate takes =
      made("{{ messages[-1].tool_calls[0].function.arguments|tojson if messages[-1].tool_calls }}");
  ASSERT_TRUE(takes.takes_arguments());
  EXPECT_EQ(*takes.render(std::vector<ChatMessage>{{"assistant", "",
                                                    R"({"tool_calls": [{"function": {"name": "f",
                          "arguments": "{\"n\": 18446744073709551616}"}}]})"_value}},
                          {}),
            "{\"n\": 18446744073709551616}");
}

// A history with a call. `arguments`: the field in JSON, after a comma; or nothing.
std::vector<ChatMessage> with_call(const std::string& arguments) {
  const std::string fields =
      R"({"content": null, "tool_calls": [{"type": "function", "function": {"name": "f")" +
      arguments + "}}]}";
  return {{"user", "?"}, {"assistant", "", JsonValue::parse(fields).value()}};
}

TEST(ChatTemplate, ArgumentsOfCalls) {
  const std::string
      begin = "{% for m in messages %}{% for c in m.tool_calls or [] %}",
      end = "{% endfor %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
  const struct {
    const char* source;
    std::string empty, written, object;
  } cases[] = {
      {"{% for k, v in c.function.arguments|items %}{{ k }}={{ v }}{% endfor %}", "", "b=1a=2",
       "b=1a=2"},
      {"{{ c.function.arguments.values()|join(',') }}", "", "1,2", "1,2"},
      {"{{ c.function.arguments|tojson }}", "{}", R"({"b": 1, "a": 2})", R"({"b": 1, "a": 2})"},
      {"{{ c.function.arguments if c.function.arguments is string else c.function.arguments|tojson "
       "}}",
       "{}", R"({"b": 1, "a": 2})", R"({"b": 1, "a": 2})"},
      {"{{ c.function.arguments }}", "{}", R"({"b":1, "a":2})", R"({"b": 1, "a": 2})"},
      {"{{ '<' + c.function.arguments + '>' }}", "<{}>", R"(<{"b":1, "a":2}>)",
       R"(<{"b": 1, "a": 2}>)"},
  };
  for (const auto& [source, empty, written, object] : cases) {
    SCOPED_TRACE(source);
    const ChatTemplate chat = made(begin + source + end);
    for (const char* nothing :
         {"", R"(, "arguments": "")", R"(, "arguments": " \n")", R"(, "arguments": null)",
          R"(, "arguments": {})", R"(, "arguments": "{}")"})
      EXPECT_EQ(*chat.render(with_call(nothing), {}), "?" + empty) << nothing;
    EXPECT_EQ(*chat.render(with_call(R"(, "arguments": "{\"b\":1, \"a\":2}")"), {}), "?" + written);
    EXPECT_EQ(*chat.render(with_call(R"(, "arguments": {"b": 1, "a": 2})"), {}), "?" + object);
    for (const char* wrong : {R"("{")", R"("[1]")", R"("\"Beijing\"")", R"("5")", R"("null")",
                              R"("{} x")", R"("{\"a\": 1, \"a\": 2}")", "5", "[1]", "true"}) {
      const auto refused = chat.render(with_call(std::string(R"(, "arguments": )") + wrong), {});
      ASSERT_FALSE(refused.ok()) << wrong << *refused;
      EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(refused.error().place.field, "messages[1].tool_calls[0].function.arguments")
          << wrong;
      EXPECT_TRUE(refused.error().message().starts_with(
          "field 'messages[1].tool_calls[0].function.arguments' is "))
          << refused.error().message();
    }
  }
}

// Clients send null, or no content, beside a call.
TEST(ChatTemplate, CallsWithoutAContent) {
  const std::string begin = "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}",
                    end = "{{ m.tool_calls[0].function.name if m.tool_calls }}{% endfor %}";
  for (const auto& [source, shown] : std::vector<std::pair<std::string, std::string>>{
           {"{% elif m.content is defined %}[{{ m.content }}]{% endif %}", ""},
           {"{% elif m.content is none %}[{{ m.content }}]{% endif %}", ""},
           {"{% else %}{{ '[' + m.content + ']' }}{% endif %}", "[]"},
           {"{% else %}{{ m.content.split('x')[0] }}{% endif %}", ""},
           {"{% else %}{{ m.content|tojson }}{% endif %}", "\"\""},
           {"{% else %}{{ m.nothing + m.content }}{% endif %}", "fails"}}) {
    SCOPED_TRACE(source);
    const ChatTemplate chat = made(begin + source + end);
    const auto rendered = chat.render(with_call(""), {});
    EXPECT_EQ(rendered ? *rendered : "fails", shown == "fails" ? shown : "?" + shown + "f");
  }
}

TEST(ChatTemplate, ManyKeysTakeLinearTime) {
  std::string kwargs = "{\"k\": 1";
  for (int i = 0; i < 40000; ++i) kwargs += fmt::format(", \"k{}\": 0", i);
  const JsonValue all = JsonValue::parse(kwargs + "}").value();
  const clock_t begin = clock();
  EXPECT_EQ(*made("{% for i in range(1000) %}{% set x = k39999 %}{% endfor %}{{ k ~ k39999 }}")
                 .render(std::vector<ChatMessage>{{"user", "", all}}, {.template_kwargs = all}),
            "10");
  EXPECT_LT(static_cast<double>(clock() - begin) / CLOCKS_PER_SEC, 4);
}

TEST(ChatTemplate, APartWhoseTypeIsNoText) {
  const std::vector<ChatMessage> parts = {{"user", "", R"({"content": [{"type": 5}]})"_value}};
  EXPECT_EQ(*made("{{ messages[0].content }}").render(parts, {}), "[{'type': 5}]");
  EXPECT_EQ(made("{{ messages }}")
                .render(parts, {.add_generation_prompt = false, .continue_final_message = true})
                .error()
                .message(),
            "the last message has no text, expected a text for the answer to continue");
}

TEST(ChatTemplate, TodaysDate) {
  const ChatTemplate chat = made("{{ strftime_now('%d %b %Y') }}");
  EXPECT_TRUE(chat.reads_clock());
  EXPECT_FALSE(made("x").reads_clock());
  ChatOptions options;
  options.now = LocalTime{.year = 2030, .month = 2, .day = 1};
  EXPECT_EQ(*chat.render(kBlank, options), "01 Feb 2030");
  EXPECT_EQ(*made("{{ strftime_now('%Y-%m-%d') }}").render(kBlank, {}), chat.day());
  EXPECT_EQ(made("x").day(), "");
}

TEST(ChatTemplate, WhatIsRefused) {
  EXPECT_EQ(ChatTemplate::from_text("a\n{{ x|nope }}", "'dir/file'", {}).error().code,
            ErrorCode::kUnsupported);
  EXPECT_EQ(ChatTemplate::from_text("a\n{% nope %}", "'dir/file'", {}).error().message(),
            "'dir/file': chat template, line 2: unknown tag 'nope'");
  const ChatTemplate chat = made("\n{{ raise_exception('Roles must alternate') }}");
  EXPECT_EQ(chat.render(kUser, {}).error().message(),
            "chat template, line 2: Roles must alternate");
  EXPECT_EQ(chat.render(kUser, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(chat.render({}, {}).error().message(), "the conversation has no messages");
  ChatOptions wrong;
  wrong.tools = "{}"_value;
  EXPECT_EQ(chat.render(kUser, wrong).error().message(), "field 'tools' is {}, expected a list");
  EXPECT_EQ(chat.render(kUser, {.documents = "[{}]"_value}).error().message(),
            "'documents' is given, but the chat template never reads it");
}

TEST(ChatTemplate, ToolsStandInTheTextWhereItKnowsNone) {
  const ChatTemplate chat =
      made("{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}");
  const ChatOptions options = {.tools =
                                   R"([{"type": "function", "function": {"name": "f"}}])"_value};
  const std::string described =
      "You can call these functions:\n{\"name\":\"f\"}\nTo call a function, answer only with a "
      "JSON "
      "object of its name and its arguments:\n{\"name\": \"...\", \"arguments\": {...}}";
  EXPECT_EQ(chat.render(std::vector<ChatMessage>{{"user", "Q?"}}, options).value(),
            "<user>" + described + "\n\nQ?\n");
  const std::vector<ChatMessage> messages = {
      {"system", "Be brief."},
      {"user", "Q?"},
      {"assistant", "",
       R"({"content": null, "tool_calls": [{"id": "1", "type": "function", "function":
           {"name": "f", "arguments": "{\"a\": 1}"}}]})"_value},
      {"tool", "7", R"({"tool_call_id": "1"})"_value}};
  EXPECT_EQ(
      chat.render(messages, options).value(),
      "<system>Be brief.\n\n" + described +
          "\n<user>Q?\n<assistant>{\"name\":\"f\",\"arguments\":{\"a\":1}}\n<user>The function "
          "returned:\n\n7\n");
}

TEST(ChatTemplate, PublishedTextOfQwen2_5) {
  const std::filesystem::path directory = PANDO_SHARED_DATA "/tokenizers/qwen2.5";
  if (!is_there(directory)) GTEST_SKIP() << directory << " does not exist";
  const auto tokenizer = load_tokenizer(directory);
  const auto chat = ChatTemplate::load(directory, *tokenizer);
  ASSERT_TRUE(chat.ok()) << chat.error().message();
  EXPECT_EQ(*chat->render(kUser, {}),
            "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful "
            "assistant.<|im_end|>\n<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace pando::testing::templates
