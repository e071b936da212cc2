// Published templates against `transformers` (tools/chat_golden.py), the search for templates, and
// refusals.
#include "text/chat/chat_template.h"

#include <xxhash.h>

#include <ctime>

#include "base/gguf_writer.h"
#include "base/json_value.h"
#include "json_literal.h"
#include "text/byte_tokenizer.h"
#include "text/text_testing.h"

namespace pando::testing {
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

ChatTemplate made(std::string_view text, NamedTokens tokens = {}) {
  auto chat = ChatTemplate::from_text(text, "'file'", std::move(tokens));
  EXPECT_TRUE(chat.ok()) << chat.error().message();
  return *chat;
}

const std::vector<ChatMessage> kUser = {{"user", "?"}};
const std::vector<ChatMessage> kBlank = {{"user", ""}};  // of templates that show no message

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

TEST(ChatTemplate, PartsOfContent) {
  const std::vector<ChatMessage> parts = {
      {"user", "",
       R"({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})"_value}};
  const ChatTemplate plain = made("{% for m in messages %}{{ m.content }}{% endfor %}");
  EXPECT_FALSE(plain.takes_parts());
  EXPECT_EQ(*plain.render(parts, {}), "ab");
  const ChatTemplate takes = made(
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in "
      "m.content %}[{{ p.text }}]{% endfor %}{% endif %}{% endfor %}");
  EXPECT_TRUE(takes.takes_parts());
  EXPECT_EQ(*takes.render(parts, {}), "[a][b]");
}

// A template writes a mark for an image, behind which the model would see nothing.
TEST(ChatTemplate, ImagesAreRefused) {
  const ChatTemplate chat = made(
      "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in "
      "m.content %}{% if p.type == 'image' %}<|image_pad|>{% else %}{{ p.text }}{% endif %}"
      "{% endfor %}{% endif %}{% endfor %}");
  const auto text = chat.render(
      std::vector<ChatMessage>{
          {"user", "See"},
          {"user", "",
           R"({"content": [{"type": "text", "text": "a"}, {"type": "image", "image": "u"}]})"_value}},
      {});
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(text.error().message(), "message 1 has an image ('image'), but Pando reads only text");
  EXPECT_EQ(text.error().place.field, "messages[1].content[1].type");
}

TEST(ChatTemplate, ASystemMessageIsNotLost) {
  const std::vector<ChatMessage> asked = {{"system", " Be\n brief. "}, {"user", "?"}};
  const std::vector<ChatMessage> kept = {{"system", " Be\n brief. "}, {"user", ""}};
  const ChatTemplate loses = made(
      "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}");
  EXPECT_EQ(loses.render(asked, {}).error().message(),
            "the chat template leaves out message 0 (role 'system') of this conversation");
  EXPECT_TRUE(loses.render(kUser, {}).ok());
  EXPECT_TRUE(loses.render(std::vector<ChatMessage>{{"system", " "}, {"user", "?"}}, {}).ok());
  for (const char* keeps :
       {"{{ messages[0].content|trim }}", "{{ messages[0].content|tojson }}",
        "{{ messages[0].content|upper }}", "{{ messages[0].content.split()|join('_') }}",
        "{{ messages[0].content|length }}?", "{{ messages }}"})
    EXPECT_TRUE(made(keeps).render(kept, {}).ok()) << keeps;
}

// Both read lists of parts alone, and write nothing of a text.
constexpr const char* kLoopOfParts =
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{% if p.type == 'text' %}"
    "[{{ p.text }}]{% endif %}{% endfor %}{% endfor %}";
constexpr const char* kSelectedParts =
    "{% for m in messages %}<{{ m.role }}>{% for p in m.content|selectattr('type', 'equalto', "
    "'text') %}[{{ p.text }}]{% endfor %}{% endfor %}";

TEST(ChatTemplate, TextsAreGivenAsPartsWhereOnlyPartsAreRead) {
  const std::vector<ChatMessage> messages = {
      {"system", "Be brief."},
      {"user", "",
       R"({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})"_value},
      {"assistant", "c"},
      {"user", "", R"({"content": "d"})"_value}};
  for (const char* text : {kLoopOfParts, kSelectedParts}) {
    const ChatTemplate chat = made(text);
    EXPECT_TRUE(chat.takes_parts());
    EXPECT_EQ(*chat.render(kUser, {}), "<user>[?]");
    EXPECT_EQ(*chat.render(messages, {}), "<system>[Be brief.]<user>[a][b]<assistant>[c]<user>[d]");
    EXPECT_EQ(*chat.render(std::vector<ChatMessage>{{"user", "a"}, {"assistant", "b"}},
                           {.add_generation_prompt = false, .continue_final_message = true}),
              "<user>[a]<assistant>[b");
  }
}

TEST(ChatTemplate, ASystemMessageIsNotLostWhereOnlyPartsAreRead) {
  const std::vector<ChatMessage> asked = {{"system", "Be brief."}, {"user", "?"}};
  EXPECT_EQ(made("{% for m in messages if m.role == 'user' %}{% for p in m.content %}{{ p.text }}"
                 "{% endfor %}{% endfor %}")
                .render(asked, {})
                .error()
                .message(),
            "the chat template leaves out message 0 (role 'system') of this conversation");
  EXPECT_EQ(*made("{% for m in messages %}{% for p in m.content %}{{ p.text|upper }}{% endfor %}"
                  "{% endfor %}")
                 .render(asked, {}),
            "BE BRIEF.?");
}

// A text stays a text where it is written in any way, or where the trial fails.
TEST(ChatTemplate, TextsStayTexts) {
  const auto rendered = [](const char* text) {
    return *made(text).render(std::vector<ChatMessage>{{"user", " Ab "}}, {});
  };
  EXPECT_EQ(rendered("{{ messages[0].content|upper }}"), " AB ");
  EXPECT_EQ(rendered("{{ messages[0].content|capitalize|trim }}"), "ab");
  EXPECT_EQ(rendered("{{ messages[0].content|length }}"), "4");
  EXPECT_EQ(rendered("{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
                     "{{ m.content[0].text }}{% endif %}{% endfor %}"),
            " Ab ");
  EXPECT_EQ(
      rendered("{% if messages[0].content == 'pando-asks-for-parts' %}"
               "{{ raise_exception('no') }}{% endif %}{% if messages[0].content is string %}"
               "text{{ messages[0].content|length }}{% else %}{{ messages[0].content[0].text }}"
               "{% endif %}"),
      "text4");
}

// Trials, with tools and documents, find the form of a content that loses the least.
TEST(ChatTemplate, ContentsAreGivenInTheFormThatLosesNothing) {
  const std::string tool_names = "{% for t in tools %}{{ t.function.name }}{% endfor %}";
  const struct {
    std::string source, of_text, of_parts;
  } cases[] = {
      {"{{ messages[0].content[-3:] }}{{ messages[0].content[10:] }}{{ messages[0].content[-100:2] "
       "}}",
       "llohe", " cdab"},
      {"{{ messages[0].content[:4] }}", "hell", "ab c"},
      {"{{ messages[0].content[0] }}", "h", "a"},
      {"{{ messages[0].content|replace('l', 'L') }}", "heLLo", "ab cd"},
      {"{{ '<' + messages[0].content[0].text + '>' }}", "<hello>", "<ab cd>"},
      {"{{ messages[0].content[-1].text }}", "hello", "ab cd"},
      {"{% for p in messages[0].content %}{\"text\": \"{{ p.text }}\"}{% endfor %}",
       "{\"text\": \"hello\"}", "{\"text\": \"ab\"}{\"text\": \" cd\"}"},
      {"{% for p in messages[0].content %}{{ p['text']|tojson }}{% endfor %}", "\"hello\"",
       "\"ab\"\" cd\""},
      {"{% if messages[0].content is not string %}{{ raise_exception('no lists') }}{% endif %}"
       "{{ messages[0].content }}",
       "hello", "ab cd"},
      {"{% for m in messages %}{% if loop.index > 0 %}{{ m.content|upper }}{% endif %}{% endfor %}",
       "HELLO", "AB CD"},
      {tool_names + "{{ messages[0].content[-3:] }}", "fllo", "f cd"},
      {tool_names + "{% for p in messages[0].content %}[{{ p.text }}]{% endfor %}", "f[hello]",
       "f[ab][ cd]"},
  };
  for (const auto& [source, of_text, of_parts] : cases) {
    SCOPED_TRACE(source);
    const ChatTemplate chat = made(source);
    const ChatOptions options{.tools = source.starts_with(tool_names)
                                           ? R"([{"function": {"name": "f"}}])"_value
                                           : JsonValue()};
    EXPECT_EQ(*chat.render(std::vector<ChatMessage>{{"user", "hello"}}, options), of_text);
    const std::vector<ChatMessage> parts = {
        {"user", "",
         R"({"content": [{"type": "text", "text": "ab"}, {"type": "text", "text": " cd"}]})"_value}};
    EXPECT_EQ(*chat.render(parts, options), of_parts);
  }
}

TEST(ChatTemplate, ContentsAreTriedBehindOtherMessages) {
  const ChatTemplate chat = made(
      "{% if messages[0].role != 'system' %}{{ raise_exception('no system') }}{% endif %}"
      "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}");
  EXPECT_EQ(*chat.render(std::vector<ChatMessage>{{"system", "a"}, {"user", "b"}}, {}), "[a][b]");
  const ChatTemplate last = made("{% for p in messages[2].content %}[{{ p.text }}]{% endfor %}");
  EXPECT_EQ(
      *last.render(std::vector<ChatMessage>{{"user", ""}, {"assistant", "a"}, {"user", "b"}}, {}),
      "[b]");
}

TEST(ChatTemplate, NoUserIsLost) {
  const ChatTemplate last = made("{{ messages[-1].content }}");
  const auto refused = [](const ChatTemplate& chat, const std::vector<ChatMessage>& messages) {
    const Result<std::string> text = chat.render(messages, {});
    return text ? "rendered: " + *text : text.error().message();
  };
  EXPECT_EQ(refused(last, {{"user", "first"}, {"assistant", "a"}, {"user", "last"}}),
            "the chat template leaves out message 0 (role 'user') of this conversation");
  EXPECT_EQ(refused(last, {{"user", " "}, {"assistant", "a"}, {"user", "last"}}), "rendered: last");
  // A text that is also part of another message.
  EXPECT_EQ(refused(last, {{"user", "last"}, {"assistant", "a"}, {"user", "the last one"}}),
            "the chat template leaves out message 0 (role 'user') of this conversation");
  EXPECT_EQ(refused(made("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"),
                    {{"system", "hello"}, {"user", "hello world"}}),
            "the chat template leaves out message 0 (role 'system') of this conversation");
  // A role that the template does not know.
  EXPECT_EQ(refused(made("{% for m in messages if m.role in ['user', 'assistant'] %}"
                         "{{ m.content }}{% endfor %}"),
                    {{"user", "a"}, {"User", "b"}}),
            "the chat template leaves out message 1 (role 'User') of this conversation");
  // In another order, and in other words.
  EXPECT_EQ(refused(made("{% for m in messages|reverse %}{{ m.content|upper }}{% endfor %}"),
                    {{"system", "a"}, {"user", "b"}, {"user", "b"}}),
            "rendered: BBA");
  EXPECT_EQ(refused(made("{% for m in messages %}{{ m.content|length }}{% endfor %}"),
                    {{"system", "ab"}, {"user", "c"}}),
            "rendered: 21");
}

// Long conversations take few renderings.
TEST(ChatTemplate, ALostUserIsFoundBesideTextsThatAreCut) {
  std::vector<ChatMessage> messages;
  for (int i = 0; i < 4001; ++i)
    messages.push_back({i % 2 == 0 ? "user" : "assistant", fmt::format("Text {} is long.", i)});
  const auto made_without = [&](int lost) {
    return made(
        fmt::format("{{% for m in messages %}}{{% if loop.index0 != {} %}}"
                    "{{{{ m.content[:4] }}}}\n{{% endif %}}{{% endfor %}}",
                    lost));
  };
  const Result<std::string> all = made_without(-1).render(messages, {});
  ASSERT_TRUE(all.ok()) << all.error().message();
  EXPECT_EQ(std::ranges::count(*all, '\n'), 4001);
  for (const int lost : {0, 2000, 4000}) {
    const Result<std::string> text = made_without(lost).render(messages, {});
    EXPECT_EQ(text ? *text : text.error().message(),
              fmt::format("the chat template leaves out message {} (role 'user') of this "
                          "conversation",
                          lost));
  }
}

TEST(ChatTemplate, NoMessageIsLostWhereUsersAre) {
  const ChatTemplate loses =
      made("{% for m in messages if m.role == 'assistant' %}A: {{ m.content }}\n{% endfor %}A:");
  EXPECT_EQ(loses.render(kUser, {}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(loses.render(kUser, {}).error().message(),
            "the chat template leaves out message 0 (role 'user') of this conversation");
  EXPECT_EQ(loses.render(std::vector<ChatMessage>{{"assistant", "a"}, {"tool", "b"}}, {})
                .error()
                .message(),
            "the chat template leaves out message 1 (role 'tool') of this conversation");
  EXPECT_EQ(*loses.render(std::vector<ChatMessage>{{"user", " "}, {"assistant", "a"}}, {}),
            "A: a\nA:");
  // Roles that a template leaves out beside users are its own matter.
  EXPECT_EQ(*made("{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}")
                 .render(std::vector<ChatMessage>{{"user", "a"}, {"tool", "b"}}, {}),
            "a");
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

class ChatTemplateFiles : public ::testing::Test {
 protected:
  Result<ChatTemplate> load(const std::string& choice = {}) const {
    const auto tokenizer = load_tokenizer(directory.path());
    return ChatTemplate::load(directory.path(), *tokenizer, choice);
  }
  std::string rendered(const std::string& choice = {}, const ChatOptions& options = {}) const {
    const auto chat = load(choice);
    if (!chat) return chat.error().message();
    const auto text = chat->render(kBlank, options);
    return text ? *text : text.error().message();
  }
  void SetUp() override {
    ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
    config = *read_json_file(directory.path() / "tokenizer_config.json");
  }
  void set_config(const Json& chat_template) {
    config["chat_template"] = chat_template;
    directory.write_json("tokenizer_config.json", config);
  }

  TempDirectory directory;
  Json config;
};

TEST_F(ChatTemplateFiles, WhereATemplateIsFound) {
  EXPECT_EQ(rendered(), "user: \nassistant:");
  set_config(nullptr);
  EXPECT_EQ(
      rendered(),
      fmt::format("'{}' has no chat template, expected one there or the option 'chat_template'",
                  directory.path().string()));
  EXPECT_EQ(load().error().code, ErrorCode::kUnsupported);
  directory.write_json("chat_template.json", {{"chat_template", "of json{{ eos_token }}"}});
  EXPECT_EQ(rendered(), "of json<|endoftext|>");
  set_config("of config");
  EXPECT_EQ(rendered(), "of config");
  directory.write("chat_template.jinja", "of jinja");
  EXPECT_EQ(rendered(), "of jinja");
  const std::filesystem::path file = directory.path() / "tokenizer.json";  // beside it
  const auto tokenizer = load_tokenizer(file);
  ASSERT_NE(tokenizer, nullptr);
  const auto chat = ChatTemplate::load(file, *tokenizer, "");
  ASSERT_TRUE(chat) << chat.error().message();
  const auto text = chat->render(kBlank, {});
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(*text, "of jinja");
}

TEST_F(ChatTemplateFiles, OneOfSeveral) {
  const ChatOptions with_tools{.tools = "[{}]"_value};  // needs a template that reads them
  set_config({{{"name", "tool_use"}, {"template", "tools{{ tools[9] }}"}},
              {{"name", "default"}, {"template", "plain{{ tools[9] if tools }}"}},
              {{"name", "broken"}, {"template", "{% x %}"}}});
  EXPECT_EQ(rendered(), "plain");
  EXPECT_EQ(rendered("", with_tools), "tools");
  EXPECT_EQ(rendered("tool_use"), "tools");
  EXPECT_EQ(rendered("default", with_tools), "plain");
  EXPECT_EQ(rendered("nope"),
            "'nope' is neither a file nor a chat template of the model, expected tool_use, "
            "default or broken");
  EXPECT_NE(rendered("broken").find("line 1: unknown tag 'x'"), std::string::npos);
  set_config({{{"name", "long"}, {"template", "a"}}, {{"name", "short"}, {"template", "b"}}});
  EXPECT_EQ(rendered(),
            "the model has several chat templates and none named 'default', expected the option "
            "'chat_template' to name one: long or short");
  directory.write("mine.jinja", "mine");
  EXPECT_EQ(rendered((directory.path() / "mine.jinja").string()), "mine");
  std::filesystem::create_directory(directory.path() / "additional_chat_templates");
  directory.write("additional_chat_templates/rag.jinja", "rag");
  EXPECT_EQ(rendered("rag"), "rag");
  EXPECT_EQ(rendered(), "rag");  // the only one
  directory.write("chat_template.jinja", "default");
  EXPECT_EQ(rendered(), "default");
  EXPECT_EQ(rendered("rag"), "rag");
}

// Another template would render conversations differently.
TEST_F(ChatTemplateFiles, ABrokenLinkIsNamed) {
  set_config("own");
  for (const char* name :
       {"chat_template.jinja", "additional_chat_templates", "special_tokens_map.json"}) {
    std::filesystem::create_symlink("nowhere", directory.path() / name);
    EXPECT_EQ(load().error().code, ErrorCode::kIo);
    EXPECT_NE(rendered().find(name), std::string::npos) << rendered();
    std::filesystem::remove(directory.path() / name);
    EXPECT_EQ(rendered(), "own");
  }
}

TEST_F(ChatTemplateFiles, EachOfSeveralTakesWhatItTakes) {
  set_config(
      {{{"name", "tool_use"},
        {"template",
         "{{ tools[9] }}{% for m in messages %}{% if m.content is string %}{{ m.content }}{% "
         "else %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endif %}{% endfor %}"}},
       {{"name", "default"}, {"template", "{{ messages[0].content }}"}}});
  const std::vector<ChatMessage> parts = {
      {"user", "", R"({"content": [{"type": "text", "text": "a"}]})"_value}};
  const auto chat = load();
  ASSERT_TRUE(chat.ok()) << chat.error().message();
  EXPECT_EQ(*chat->render(parts, {}), "a");
  EXPECT_EQ(*chat->render(parts, {.tools = "[{}]"_value}), "[a]");
}

TEST_F(ChatTemplateFiles, NoTokenIsInvented) {
  config.erase("bos_token");
  set_config("{{ bos_token is defined }}");
  EXPECT_EQ(rendered(), "False");
}

TEST_F(ChatTemplateFiles, TokensThatATemplateMayWrite) {
  config["bos_token"] = {{"content", "<bos>"}};
  config["image_token"] = "<img>";
  config["add_bos_token"] = false;
  config["extra_special_tokens"] = {{"call_token", "<call>"}};
  config["model_specific_special_tokens"] = {{"end_of_call", "</call>"}};
  set_config(
      "{{ bos_token }}{{ image_token }}{{ call_token }}{{ end_of_call }}{{ add_bos_token is "
      "defined }}{{ pad_token is defined }}");
  EXPECT_EQ(rendered(), "<bos><img><call></call>FalseFalse");
  directory.write_json("special_tokens_map.json", {{"pad_token", "<pad>"}, {"bos_token", "<b>"}});
  EXPECT_EQ(rendered(), "<b><img><call></call>FalseTrue");
}

TEST_F(ChatTemplateFiles, AFieldOfTheWrongType) {
  set_config(5);
  EXPECT_NE(rendered().find("'chat_template' is 5, expected a string"), std::string::npos);
  EXPECT_EQ(load().error().code, ErrorCode::kBadFile);
  set_config({{{"name", "default"}}});
  EXPECT_NE(rendered().find("'chat_template[0].template' is missing"), std::string::npos);
}

TEST_F(ChatTemplateFiles, OfAGgufFile) {
  const auto tokenizer = load_tokenizer(directory.path());
  const std::filesystem::path path = directory.path() / "model.gguf";
  GgufWriter writer;
  directory.write("model.gguf", writer.bytes());
  EXPECT_NE(ChatTemplate::load(path, *tokenizer).error().message().find("has no chat template"),
            std::string::npos);
  writer.string("tokenizer.chat_template", "plain");
  writer.string("tokenizer.chat_template.tool_use", "tools");
  directory.write("model.gguf", writer.bytes());
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer)->render(kBlank, {}), "plain");
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer)->render(kBlank, {.tools = "[]"_value}), "tools");
  EXPECT_EQ(*ChatTemplate::load(path, *tokenizer, "tool_use")->render(kBlank, {}), "tools");
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
}  // namespace pando::testing
