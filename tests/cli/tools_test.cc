// `pando tools`, which prints how a model's tool calls are read.
#include "cli/process.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;
using ToolsTest = ProcessTest;

// A template that writes calls between marks.
std::string template_with(const std::string& begin, const std::string& end) {
  return "{% if tools %}{{ tools|tojson }}\n{% endif %}{% for m in messages %}<|{{ m.role }}|>"
         "{{ m.content }}{% for c in m.tool_calls or [] %}" +
         begin +
         R"({"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}})" +
         end +
         "{% endfor %}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}";
}

TEST_F(ToolsTest, AreDescribed) {
  folder().write("calls.jinja", template_with("<call>", "</call>"));
  const Finished learned = pando("tools m --chat-template calls.jinja");
  EXPECT_EQ(learned.code, kOk) << learned;
  for (const char* line :
       {"source                the chat template\n",
        "a call                a JSON object with a name and arguments\n",
        "before a call         \"<call>\"\n", "behind a call         \"</call>\"\n",
        "several calls         yes\n", "a text and a call     yes\n", "reasoning             no\n",
        "read as               get_weather {\"city\": \"Paris\", \"days\": 2}\n"})
    EXPECT_NE(learned.out.find(line), std::string::npos) << line << learned;

  const Finished named = pando("tools --model m --chat-template calls.jinja --tool-format hermes");
  EXPECT_EQ(named.code, kOk) << named;
  for (const char* line :
       {"source                --tool-format\n", "before a call         \"<tool_call>\\n\"\n"})
    EXPECT_NE(named.out.find(line), std::string::npos) << line << named;
  EXPECT_EQ(named.out.find("read as "), named.out.find("read as text")) << named;
}

TEST_F(ToolsTest, ATemplateMayShowNone) {
  folder().write("plain.jinja", "{% for m in messages %}{{ m.content }}\n{% endfor %}");
  const Finished plain = pando("tools m --chat-template plain.jinja");
  EXPECT_EQ(plain.code, kOk) << plain;
  EXPECT_TRUE(plain.out.starts_with("source                none: ")) << plain;
  EXPECT_NE(plain.out.find("example               none: "), std::string::npos) << plain;
}

TEST_F(ToolsTest, WrongUsage) {
  const Finished format = pando("tools m --tool-format xml");
  EXPECT_EQ(format.code, kUsage) << format;
  EXPECT_TRUE(format.says("xml, expected auto, json, hermes, pythonic, harmony or kimi")) << format;
  EXPECT_EQ(pando("tools m --model m").code, kUsage);
  EXPECT_EQ(pando("tools nowhere").code, kFailed);
}

}  // namespace
}  // namespace pando::testing
