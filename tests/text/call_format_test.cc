// Formats of calls, learned from templates of many kinds.
#include "text/calls/call_format.h"

#include "text/calls_testing.h"

namespace pando::testing {
namespace {

using calls::CallFormat;

constexpr std::string_view kTwoTools = R"([
  {"name": "find", "parameters": {"properties": {
    "what": {"type": "string"}, "count": {"type": "integer"}, "tree": {"type": "object"}}}},
  {"name": "stop", "parameters": {"properties": {}}}])";

// A template whose messages have roles and contents, and calls as `calls` writes them.
ChatTemplate chat_with(std::string_view calls) {
  const std::string text =
      "{%- for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
      "{%- if m.tool_calls %}" +
      std::string(calls) +
      "{% endif %}<|im_end|>\n{% endfor %}"
      "{%- if tools %}{% endif %}"
      "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
  auto chat = ChatTemplate::from_text(text, "'file'", {});
  EXPECT_TRUE(chat.ok()) << chat.error().message();
  return *chat;
}

struct WayOfCalls {
  std::string_view name;
  std::string_view calls;   // of the template
  std::string_view answer;  // as a model would write it
};

// Each answer has find(what: 'a "b"', count: 3) and stop().
const WayOfCalls kWays[] = {
    {"a list of objects behind a word",
     "[TOOL_CALLS] [{% for c in m.tool_calls %}{\"name\": \"{{ c.function.name }}\", "
     "\"arguments\": "
     "{{ c.function.arguments|tojson }}, \"id\": \"{{ c.id }}\"}{% if not loop.last %}, {% endif %}"
     "{% endfor %}]",
     R"([TOOL_CALLS][{"name":"find","arguments":{"what":"a \"b\"","count":3}},{"name":"stop","arguments":{}}])"},
    {"objects in objects", "<calls>{{ m.tool_calls|tojson }}</calls>",
     R"(<calls>[{"type": "function", "function": {"name": "find", "arguments": {"what": "a \"b\"", "count": 3}}},
        {"type": "function", "function": {"name": "stop", "arguments": {}}}]</calls>)"},
    {"arguments as a text in an object",
     "{% for c in m.tool_calls %}<call>{\"tool\": \"{{ c.function.name }}\", \"input\": "
     "{{ c.function.arguments|tojson|tojson }}}</call>{% endfor %}",
     R"(<call>{"tool": "find", "input": "{\"what\": \"a \\\"b\\\"\", \"count\": 3}"}</call><call>{"tool": "stop", "input": "{}"}</call>)"},
    {"arguments before the name",
     "<|tool_call|>[{% for c in m.tool_calls %}{\"arguments\": {{ c.function.arguments|tojson }}, "
     "\"name\": \"{{ c.function.name }}\"}{% if not loop.last %}, {% endif %}{% endfor %}]",
     R"(<|tool_call|>[{"arguments": {"what": "a \"b\"", "count": 3}, "name": "find"}, {"arguments": {}, "name": "stop"}])"},
    {"the name as the only key",
     "<do>{% for c in m.tool_calls %}{\"{{ c.function.name }}\": {{ c.function.arguments|tojson "
     "}}}\n"
     "{% endfor %}</do>",
     "<do>{\"find\": {\"what\": \"a \\\"b\\\"\", \"count\": 3}}\n{\"stop\": {}}\n</do>"},
    {"the name in an id",
     "<|calls|>{% for c in m.tool_calls %}<|call|>{{ c.id }}<|args|>{{ c.function.arguments|tojson "
     "}}"
     "<|end|>{% endfor %}<|calls_end|>",
     "<|calls|><|call|>functions.find:0<|args|>{\"what\": \"a \\\"b\\\"\", \"count\": 3}<|end|>"
     "<|call|>functions.stop:1<|args|>{}<|end|><|calls_end|>"},
    {"an id before the name",
     "{% for c in m.tool_calls %}<|id|>{{ c.id }}<|name|>{{ c.function.name }}<|args|>"
     "{{ c.function.arguments|tojson }}<|end|>{% endfor %}",
     "<|id|>00<|name|>find<|args|>{\"what\": \"a \\\"b\\\"\", \"count\": 3}<|end|>"
     "<|id|>01<|name|>stop<|args|>{}<|end|>"},
    {"a recipient without an end",
     "{% for c in m.tool_calls %}<|recipient|>{{ c.function.name }}\n<|content|>"
     "{{ c.function.arguments|tojson }}{% endfor %}",
     "<|recipient|>find\n<|content|>{\"what\": \"a \\\"b\\\"\", \"count\": 3}<|recipient|>stop\n"
     "<|content|>{}"},
    {"code fences",
     "<tool_calls>\n{% for c in m.tool_calls %}<tool_call>{{ c.function.name }}\n```json\n"
     "{{ c.function.arguments|tojson }}\n```\n</tool_call>\n{% endfor %}</tool_calls>",
     "<tool_calls>\n<tool_call>find\n```json\n{\"what\": \"a \\\"b\\\"\", \"count\": 3}\n```\n"
     "</tool_call>\n<tool_call>stop\n```json\n{}\n```\n</tool_call>\n</tool_calls>"},
    {"Python between marks",
     "<function_calls>\n{% for c in m.tool_calls %}{{ c.function.name }}("
     "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}"
     "{% if not loop.last %}, {% endif %}{% endfor %})\n{% endfor %}</function_calls>",
     "<function_calls>\nfind(what=\"a \\\"b\\\"\", count=3)\nstop()\n</function_calls>"},
    {"Python without marks",
     "[{% for c in m.tool_calls %}{{ c.function.name }}("
     "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v|tojson }}"
     "{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}"
     "{% endfor %}]",
     "[find(what='a \"b\"', count=3), stop()]"},
    {"parameters with names as attributes",
     "<|begin|>{% for c in m.tool_calls %}<|call|>function<|sep|><invoke name=\"{{ c.function.name "
     "}}\">"
     "{% for k, v in c.function.arguments.items() %}<parameter name=\"{{ k }}\">"
     "{{ v if v is string else v|tojson }}</parameter>{% endfor %}</invoke><|call_end|>"
     "{% endfor %}<|end|>",
     "<|begin|><|call|>function<|sep|><invoke name=\"find\"><parameter name=\"what\">a "
     "\"b\"</parameter>"
     "<parameter name=\"count\">3</parameter></invoke><|call_end|><|call|>function<|sep|>"
     "<invoke name=\"stop\"></invoke><|call_end|><|end|>"},
    {"parameters on lines of their own",
     "{% for c in m.tool_calls %}\n<tool_call>\n<function={{ c.function.name }}>\n"
     "{% for k, v in c.function.arguments.items() %}<parameter={{ k }}>\n"
     "{{ v if v is string else v|tojson }}\n</parameter>\n{% endfor %}</function>\n</tool_call>"
     "{% endfor %}",
     "<tool_call>\n<function=find>\n<parameter=what>\na \"b\"\n</parameter>\n<parameter=count>\n3\n"
     "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=stop>\n</function>\n</"
     "tool_call>"},
    {"parameters as elements",
     "{% for c in m.tool_calls %}<call><name>{{ c.function.name }}</name>"
     "{% for k, v in c.function.arguments.items() %}<|arg|><{{ k }}>{{ v if v is string else "
     "v|tojson }}"
     "<|arg|></{{ k }}>{% endfor %}</call>{% endfor %}",
     "<call><name>find</name><|arg|><what>a "
     "\"b\"<|arg|></what><|arg|><count>3<|arg|></count></call>"
     "<call><name>stop</name></call>"},
};

TEST(CallFormat, IsLearnedFromTemplatesOfManyKinds) {
  const calls::OfferedTools tools = offered(kTwoTools);
  for (const WayOfCalls& way : kWays) {
    const CallFormat format = calls::learn_calls(chat_with(way.calls));
    EXPECT_TRUE(format.is_known) << way.name;
    EXPECT_TRUE(format.renders_parallel) << way.name;
    const auto events =
        events_of(format, tools, "<|im_start|>assistant\n", way.answer, way.answer.size());
    const calls::TrialAnswer expected = {
        .calls = {{"find", {{"what", "a \"b\""}, {"count", 3}}, ""},
                  {"stop", calls::CallJson::object(), ""}}};
    EXPECT_TRUE(is_answer(events, expected)) << way.name << ": " << parts_of(events);
    parts_of(format, tools, way.answer);  // cut at every byte
  }
}

// A learned format is a plain value, from which a grammar can be made.
TEST(CallFormat, HasTheTextsAroundACall) {
  const CallFormat format = calls::learn_calls(chat_with(kWays[12].calls));
  EXPECT_EQ(format.body, calls::CallBody::kParameters);
  EXPECT_EQ(format.call_begin, "<tool_call>\n<function=");
  ASSERT_EQ(format.head.size(), 2u);
  EXPECT_EQ(format.head[0], (calls::HeadPiece{calls::HeadPiece::Kind::kName}));
  EXPECT_EQ(format.head[1], (calls::HeadPiece{calls::HeadPiece::Kind::kText, ">"}));
  EXPECT_EQ(format.parameter_begin, "\n<parameter=");
  EXPECT_EQ(format.value_begin, ">\n");
  EXPECT_EQ(format.parameter_end, "\n</parameter>");
  EXPECT_EQ(format.call_end, "\n</function>\n</tool_call>");
  EXPECT_EQ(format.turn_begin, "<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(format.turn_end, "<|im_end|>\n");
}

// A template whose calls cannot be read back has the format of small models.
TEST(CallFormat, IsNotTakenIfACallDoesNotComeBack) {
  for (const std::string_view calls :
       {"", "{% for c in m.tool_calls %}I call {{ c.function.name }}.{% endfor %}",
        "{% for c in m.tool_calls %}<call>{{ c.function.name }} {{ c.function.arguments|length }}"
        "</call>{% endfor %}",
        "{% for c in m.tool_calls %}<call name={{ c.function.name|upper }}>"
        "{{ c.function.arguments|tojson }}</call>{% endfor %}",
        "{{ raise_exception('no tools') }}"}) {
    const CallFormat format = calls::learn_calls(chat_with(calls));
    EXPECT_FALSE(format.is_known) << calls;
    EXPECT_EQ(parts_of(format, offered(kTwoTools), R"({"name": "stop", "arguments": {}})"),
              "stop{};");
  }
}

// Templates that show calls only beside a content that is null, and reasoning as a plan for calls.
TEST(CallFormat, OtherFieldsOfMessages) {
  const auto format_of = [](std::string_view assistant) {
    const auto chat = ChatTemplate::from_text(
        "{% for m in messages %}{% if m.role == 'user' %}<|user|>{{ m.content }}<|end|>{% else %}"
        "<|bot|>" +
            std::string(assistant) +
            "<|end|>{% endif %}{% endfor %}{% if tools %}{% endif %}"
            "{% if add_generation_prompt %}<|bot|>{% endif %}",
        "'file'", {});
    EXPECT_TRUE(chat.ok()) << chat.error().message();
    return calls::learn_calls(*chat);
  };
  const std::string all =
      "{% for c in m.tool_calls %}<call>{{ c.function.name }}<args>"
      "{{ c.function.arguments|tojson }}</call>{% endfor %}";
  EXPECT_TRUE(format_of("{% if m.content is none %}" + all + "{% else %}{{ m.content }}{% endif %}")
                  .is_known);
  const CallFormat planned = format_of(
      "{% if m.tool_calls %}{% if m.tool_plan %}<|think|>{{ m.tool_plan }}<|think_end|>{% endif "
      "%}" +
      all + "{% else %}<|say|>{{ m.content }}<|say_end|>{% endif %}");
  EXPECT_TRUE(planned.is_known);
  EXPECT_TRUE(planned.renders_reasoning);
  EXPECT_EQ(parts_of(planned, offered(kTwoTools),
                     "<|think|>Stop it.<|think_end|><call>stop<args>{}</call>"),
            "(Stop it.)stop{};");
  EXPECT_EQ(parts_of(planned, offered(kTwoTools), "<|say|>Yes.<|say_end|>"), "Yes.");
}

TEST(CallFormat, OneCallAlone) {
  const CallFormat format = calls::learn_calls(chat_with(
      "{% if m.tool_calls|length > 1 %}{{ raise_exception('one') }}{% endif %}"
      "<call>{{ m.tool_calls[0].function.name }}={{ m.tool_calls[0].function.arguments|tojson }}"
      "</call>"));
  EXPECT_TRUE(format.is_known);
  EXPECT_FALSE(format.renders_parallel);
  EXPECT_EQ(format.call_begin, "<call>");
  EXPECT_EQ(format.call_end, "</call>");
}

TEST(CallFormat, CanBeForcedByName) {
  const calls::OfferedTools tools = offered(kTwoTools);
  const std::pair<std::string_view, std::string_view> kAnswers[] = {
      {"json", R"({"name": "stop", "arguments": {}})"},
      {"hermes", "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>"},
      {"pythonic", "<|tool_call_start|>[stop()]<|tool_call_end|>"},
      {"kimi",
       "<|tool_calls_section_begin|><|tool_call_begin|>functions.stop:0<|tool_call_argument_begin|>"
       "{}<|tool_call_end|><|tool_calls_section_end|>"},
      {"harmony",
       "<|channel|>commentary to=functions.stop <|constrain|>json<|message|>{}<|call|>"}};
  for (const auto& [name, answer] : kAnswers) {
    const Result<CallFormat> format = calls::call_format_named(name);
    ASSERT_TRUE(format.ok()) << name;
    EXPECT_EQ(parts_of(*format, tools, answer),
              name == "kimi" ? "stop#functions.stop:0{};" : "stop{};");
  }
  const Result<CallFormat> other = calls::call_format_named("xml");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message(),
            "tool format 'xml' is unknown, expected json, hermes, pythonic, harmony or kimi");
}

}  // namespace
}  // namespace pando::testing
