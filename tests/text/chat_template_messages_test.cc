// Templates get messages in the form that loses none of their contents.
#include "json_literal.h"
#include "text/chat_template_testing.h"
#include "text/text_testing.h"

namespace pando::testing::templates {
namespace {

using testing::operator""_value;

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

}  // namespace
}  // namespace pando::testing::templates
