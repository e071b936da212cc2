// Answers taken apart as they come in.
#include "text/calls/call_parser.h"

#include "text/calls_testing.h"

namespace pando::testing {
namespace {

using calls::AnswerEvent;
using calls::CallFormat;
using calls::CallParser;
using calls::OfferedTools;

constexpr std::string_view kOffered = R"([
  {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {
    "what": {"type": "string"}, "count": {"type": "integer"}}}}},
  {"type": "function", "function": {"name": "stop"}}])";

CallFormat hermes() { return *calls::call_format_named("hermes"); }
CallFormat small() { return *calls::call_format_named("json"); }

// <tool_call>, <function=NAME>, <parameter=KEY>VALUE</parameter>
CallFormat xml() {
  CallFormat format;
  format.is_known = true;
  format.body = calls::CallBody::kParameters;
  format.call_begin = "<tool_call>\n<function=";
  format.head = {{calls::HeadPiece::Kind::kName}, {calls::HeadPiece::Kind::kText, ">\n"}};
  format.parameter_begin = "<parameter=";
  format.value_begin = ">\n";
  format.parameter_end = "\n</parameter>\n";
  format.call_end = "</function>\n</tool_call>";
  format.separator = "\n";
  return format;
}

TEST(CallParser, TextWithoutCallsStaysAsItIs) {
  const OfferedTools tools = offered(kOffered);
  for (const std::string_view text : {"",
                                      " ",
                                      "Hello.",
                                      " \n Hello, \n world <b> \n",
                                      "a < b && c > d",
                                      "<tool",
                                      "<tool_call",
                                      "`code`",
                                      "```python\nprint(1)\n```\n",
                                      "[1, 2]",
                                      "{\"a\": 1}",
                                      "{\"name\": \"Ada\"}\n",
                                      "{\"name\": \"find\"}",
                                      "{\"name\": \"find\", \"arguments\": 3}",
                                      "{",
                                      "[",
                                      "``",
                                      "[find",
                                      "{\"name\": \"fi",
                                      "Use <tool_call> to call.",
                                      "</think>",
                                      "\xc3\xa9\xe2\x82\xac <\xc3\xa9"})
    for (const CallFormat& format : {hermes(), small(), xml()}) {
      const bool is_mark = text == "</think>" && !format.reasoning_end.empty();
      EXPECT_EQ(parts_of(format, tools, text), is_mark ? "" : text);
    }
}

TEST(CallParser, CallsInMarks) {
  const OfferedTools tools = offered(kOffered);
  const CallFormat format = hermes();
  const std::string one = R"({"name": "find", "arguments": {"what": "a <b> \"c\"", "count": 007}})",
                    good = R"({"name": "find", "arguments": {"what": "</tool_call>", "n": [1]}})";
  EXPECT_EQ(parts_of(format, tools, "<tool_call>\n" + good + "\n</tool_call>"),
            R"(find{"what": "</tool_call>", "n": [1]};)");
  EXPECT_EQ(parts_of(format, tools, "I look.\n<tool_call>" + good + "</tool_call>"),
            R"(I look.find{"what": "</tool_call>", "n": [1]};)");
  EXPECT_EQ(
      parts_of(format, tools,
               "<tool_call>{\"name\": \"stop\"}</tool_call>\n\n<tool_call>{\"name\": \"stop\", "
               "\"arguments\": \"{}\", \"id\": \"x1\"}</tool_call>\nDone. "),
      "stop{};stop#x1{};Done. ");
  // A list, a missing end, keys of other templates, an unknown name, a line end in a text.
  EXPECT_EQ(parts_of(format, tools,
                     "<tool_call>[{\"name\": \"stop\"}, {\"name\": \"stop\", "
                     "\"arguments\": {}}]</tool_call>"),
            "stop{};stop{};");
  EXPECT_EQ(parts_of(format, tools, "<tool_call>\n{\"name\": \"stop\", \"parameters\": {}}"),
            "stop{};");
  EXPECT_EQ(
      parts_of(format, tools, "<tool_call>{\"name\": \"other\", \"arguments\": {}}</tool_call>"),
      "other{};");
  EXPECT_EQ(
      parts_of(format, tools,
               "<tool_call>{\"name\": \"find\", \"arguments\": {\"what\": \"a\nb\"}}</tool_call>"),
      R"(find{"what": "a\u000ab"};)");
  EXPECT_EQ(parts_of(format, tools, "<tool_call>" + one + "</tool_call>"),
            "<tool_call>" + one + "</tool_call>");  // 007 is no JSON
}

TEST(CallParser, OfRepeatedKeysTheLastCounts) {
  const OfferedTools tools = offered(kOffered);
  const auto called = [&](const std::string& arguments) {
    return parts_of(
        hermes(), tools,
        "<tool_call>{\"name\": \"find\", \"arguments\": " + arguments + "}</tool_call>");
  };
  EXPECT_EQ(called(R"({"a": 1, "b": 2, "\u0061": 3})"), R"(find{"a":3,"b":2};)");
  EXPECT_EQ(called(R"({"x": [{"a": 1, "a": {"b": 1, "b": 123456789012345678901234567890}}, "c"]})"),
            R"(find{"x":[{"a":{"b":123456789012345678901234567890}},"c"]};)");
  EXPECT_EQ(called(R"("{\"a\": 1, \"a\": 2}")"), R"(find{"a":2};)");
  const std::string broken =
      R"(<tool_call>{"name": "find", "arguments": {"a": 1, "a": 01}}</tool_call>)";
  EXPECT_EQ(parts_of(hermes(), tools, broken), broken);
}

TEST(CallParser, BrokenCallsAreText) {
  const OfferedTools tools = offered(kOffered);
  for (const std::string_view text :
       {"<tool_call>", "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"what\": \"a",
        "<tool_call>\n{\"name\": \"find\", \"arguments\": [1]}\n</tool_call>",
        "<tool_call>{\"name\": 3, \"arguments\": {}}</tool_call>",
        "<tool_call>{\"arguments\": {}}</tool_call>", "<tool_call>find(x)</tool_call>",
        "<tool_call>{\"name\": \"find\" \"arguments\": {}}</tool_call>",
        "<tool_call>{'name': 'find'}</tool_call>"})
    EXPECT_EQ(parts_of(hermes(), tools, text), text);
  for (const std::string_view text :
       {"<tool_call>\n<function=find>\n<parameter=what>\na",
        "<tool_call>\n<function=find>\n<parameter=what>\na\n</parameter>\n",
        "<tool_call>\n<function=find>\n<parameter=what\n", "<tool_call>\n<function=>\n</function>",
        "<tool_call>\n<function=find>\nWell</function>\n</tool_call>"})
    EXPECT_EQ(parts_of(xml(), tools, text), text);
  // The text behind it is read again.
  EXPECT_EQ(parts_of(hermes(), tools, "<tool_call>no<tool_call>{\"name\": \"stop\"}</tool_call>"),
            "<tool_call>nostop{};");
  EXPECT_EQ(parts_of(hermes(), tools,
                     "<tool_call>{\"name\": \"stop\"}</tool_call>\n<tool_call>{\"name\": \"st"),
            "stop{};<tool_call>{\"name\": \"st");
  EXPECT_EQ(parts_of(hermes(), tools, "<tool_call>[{\"name\": \"stop\"}, {\"nam"),
            "stop{};, {\"nam");
}

TEST(CallParser, ParametersAreReadByTheirTypes) {
  const OfferedTools tools = offered(kOffered);
  const auto called = [&](std::string_view parameters) {
    return parts_of(
        xml(), tools,
        "<tool_call>\n<function=find>\n" + std::string(parameters) + "</function>\n</tool_call>");
  };
  EXPECT_EQ(called("<parameter=what>\n12\n</parameter>\n<parameter=count>\n12\n</parameter>\n"),
            R"(find{"what":"12","count":12};)");
  EXPECT_EQ(called("<parameter=what>\n\n a\n\nb \n\n</parameter>\n"),
            R"(find{"what":"\n a\n\nb \n"};)");
  EXPECT_EQ(called("<parameter=what>a</parameter><parameter=count> 3 </parameter>"),
            R"(find{"what":"a","count":3};)");
  EXPECT_EQ(called("<parameter=what>\nsay </parameter> twice\n</parameter>\n"),
            R"(find{"what":"say </parameter> twice"};)");
  EXPECT_EQ(
      called("<parameter=count>\nmany\n</parameter>\n<parameter=else>\n[1, \"x\"]\n</parameter>\n"),
      R"(find{"count":"many","else":[1,"x"]};)");
  EXPECT_EQ(called(""), "find{};");
  // Models leave out the first line of a call, and the last.
  EXPECT_EQ(parts_of(xml(), tools, "Yes.\n<function=stop>\n</function>"), "Yes.stop{};");
}

TEST(CallParser, SmallModelsCallAsTheyPlease) {
  const OfferedTools tools = offered(kOffered);
  const std::string call = R"({"name": "find", "arguments": {"what": "x"}})",
                    parts = R"(find{"what": "x"};)";
  for (const CallFormat& format : {small(), hermes(), xml()}) {
    for (const std::string& answer :
         {call, "\n " + call + "\n", "```json\n" + call + "\n```", "```\n" + call + "\n```\n",
          "[" + call + "]", "<tool_call>" + call + "</tool_call>",
          "<tools>\n" + call + "\n</tools>", "<|tool_call|>[" + call + "]",
          "[TOOL_CALLS][" + call + "]", "<|python_tag|>" + call,
          std::string(R"({"function": "find", "parameters": {"what": "x"}})"),
          std::string(
              R"({"type": "function", "function": {"name": "find", "arguments": {"what": "x"}}})"),
          std::string(R"({"arguments": {"what": "x"}, "name": "find"})"), "{" + call + "}",
          "<tool_call>\n{" + call + "}\n</tool_call>", "{" + call,
          std::string(R"({"name": "find", "arguments": "{\"what\": \"x\"}"})")})
      EXPECT_EQ(parts_of(format, tools, answer), parts) << answer;
    EXPECT_EQ(parts_of(format, tools, "[" + call + ", " + call + "]"), parts + parts);
    EXPECT_EQ(parts_of(format, tools, call + "\n" + call), parts + parts);
    EXPECT_EQ(parts_of(format, tools, "```json\n" + call + "\n```\nThis finds x."),
              parts + "This finds x.");
    EXPECT_EQ(parts_of(format, tools, "<|tool_call_start|>[find(what='x')]<|tool_call_end|>"),
              R"(find{"what":"x"};)");
    // Other objects, other names and objects in a text are no calls.
    for (const std::string& answer :
         {std::string(R"({"name": "other", "arguments": {}})"),
          std::string(R"({"name": "find", "arguments": {}, "price": 3})"), "So: " + call,
          std::string("```json\n{\"a\": 1}\n```"), std::string("{{name}}"),
          std::string("```python\nfind(1)\n```")})
      EXPECT_EQ(parts_of(format, tools, answer), answer);
  }
  EXPECT_EQ(parts_of(small(), OfferedTools(), call), call);
}

TEST(CallParser, ToolsThatMayNotBeCalledAreText) {
  OfferedTools tools = offered(kOffered);
  tools.keep(std::vector<std::string>{"stop"});
  const std::string call = R"({"name": "find", "arguments": {"what": "x"}})";
  for (const std::string& answer :
       {call, "```json\n" + call + "\n```", "<tools>\n" + call + "\n</tools>",
        "<tool_call>\n" + call + "\n</tool_call>",
        std::string(R"({"arguments": {"what": "x"}, "name": "find"})")})
    EXPECT_EQ(parts_of(hermes(), tools, answer), answer);
  const std::string in_channel =
      "<|channel|>commentary to=functions.find json<|message|>{\"what\": \"x\"}";
  EXPECT_EQ(parts_of(*calls::call_format_named("harmony"), tools, in_channel), in_channel);
  EXPECT_EQ(parts_of(xml(), tools, "<tool_call>\n<function=stop>\n</function>\n</tool_call>"),
            "stop{};");
}

// A beginning that may be a call is held back until it is decided, and no longer.
TEST(CallParser, HoldsBackWhatMayBeACall) {
  const OfferedTools tools = offered(kOffered);
  const auto text_after = [&](const CallFormat& format, std::string_view answer) {
    CallParser parser(format, tools);
    return parts_of(parser.feed(answer));
  };
  EXPECT_EQ(text_after(small(), "{"), "");
  EXPECT_EQ(text_after(small(), "{\"na"), "");
  EXPECT_EQ(text_after(small(), "{\"name\": \"find\", \"arguments\": {\"wh"), "");
  EXPECT_EQ(text_after(small(), "{\"city\":"), "{\"city\":");
  EXPECT_EQ(text_after(small(), "{\"name\": \"Ada\""), "{\"name\": \"Ada\"");
  EXPECT_EQ(text_after(small(), "```json\n[1"), "```json\n[1");
  EXPECT_EQ(text_after(hermes(), "Hi <tool_"), "Hi");
  EXPECT_EQ(text_after(hermes(), "Hi <tool_call> is"), "Hi");
  EXPECT_EQ(text_after(hermes(), "Hi <tool_call> is a"), "Hi <tool_call> is a");
  EXPECT_EQ(text_after(hermes(), "<tool_call>{\"name\": \"stop\"}"), "stop{};");
}

TEST(CallParser, Reasoning) {
  const OfferedTools tools = offered(kOffered);
  const CallFormat format = hermes();
  const std::string call = "<tool_call>{\"name\": \"stop\"}</tool_call>";
  EXPECT_EQ(parts_of(format, tools, "<think>\nHm.\nSo.\n</think>\n\nYes.\n"), "(Hm.\nSo.)Yes.\n");
  EXPECT_EQ(parts_of(format, tools, "<think>\n\n</think>\n\nYes."), "Yes.");
  EXPECT_EQ(parts_of(format, tools, "<think>Use " + call + "?</think>" + call),
            "(Use " + call + "?)stop{};");
  EXPECT_EQ(parts_of(format, tools, "<think>never ends"), "(never ends)");
  EXPECT_EQ(parts_of(format, tools, "<think>a</thin"), "(a</thin)");
  EXPECT_EQ(parts_of(format, OfferedTools(), "<think>a</think>b"), "(a)b");
  // It stands at the beginning only. A prompt may open it, or close it.
  EXPECT_EQ(parts_of(format, tools, "The mark <think> is a mark."), "The mark <think> is a mark.");
  EXPECT_EQ(parts_of(format, tools, "Hm.</think>Yes.", "<assistant><think>\n"), "(Hm.)Yes.");
  EXPECT_EQ(parts_of(format, tools, "</think>Yes."), "Yes.");
  CallFormat closed = format;
  closed.prompt_ends = {"<think>\n\n</think>\n\n", ">>>"};
  EXPECT_EQ(parts_of(closed, tools, "Yes.", "<assistant><think>\n\n</think>\n\n"), "Yes.");
  closed.call_begin = ">>>";
  EXPECT_EQ(parts_of(closed, tools, "{\"name\": \"stop\"}", ">>>"), "stop{};");
  EXPECT_EQ(parts_of(closed, tools, "Yes.", ">>>"), "Yes.");
}

TEST(CallParser, ChannelsOfMessages) {
  const OfferedTools tools = offered(kOffered);
  const CallFormat format = *calls::call_format_named("harmony");
  const std::string call =
      "<|start|>assistant<|channel|>commentary to=functions.find "
      "<|constrain|>json<|message|>{\"what\": \"x\"}<|call|>";
  EXPECT_EQ(parts_of(format, tools, "<|channel|>analysis<|message|>Hm.<|end|>" + call),
            R"((Hm.)find{"what": "x"};)");
  EXPECT_EQ(parts_of(format, tools, "<|channel|>commentary<|message|>I look.<|end|>" + call + call),
            R"(I look.find{"what": "x"};find{"what": "x"};)");
  EXPECT_EQ(parts_of(format, tools,
                     "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final"
                     "<|message|>Yes.<|return|>"),
            "(Hm.)Yes.");
  EXPECT_EQ(
      parts_of(format, tools,
               " to=functions.find<|channel|>commentary json<|message|>{\"what\": \"x\"}<|call|>"),
      R"(find{"what": "x"};)");
  const std::string broken = "<|channel|>commentary to=functions.find json<|message|>{\"what\": x}";
  EXPECT_EQ(parts_of(format, tools, broken), broken);
}

TEST(CallParser, FindsTheCallThatHasBegun) {
  const OfferedTools tools = offered(kOffered);
  const auto begun = [&](const CallFormat& format, const std::string& answer,
                         std::string_view prompt = {}) {
    CallParser parser(format, tools, prompt);
    parser.feed(answer);
    const std::optional<calls::BegunCall> call = parser.begun_call();
    return call ? call->head + "|" + answer.substr(answer.size() - call->n_bytes) : "";
  };
  EXPECT_EQ(begun(hermes(), "Hm. <tool_c"), "");
  EXPECT_EQ(begun(hermes(), "Hm. <tool_call>{"), "|<tool_call>{");
  for (const char* open : {"{", "{{"})
    EXPECT_EQ(begun(hermes(), std::string(open) + R"("name": "find", )"), R"({"name": "find"|, )");
  EXPECT_EQ(begun(hermes(), R"({"name": "find", "arguments": {"what": ")" + std::string(5000, 'a')),
            "");
  CallFormat channels = *calls::call_format_named("harmony");
  channels.prompt_ends = {"<|start|>assistant"};
  const std::string call = "<|channel|>commentary to=functions.";
  EXPECT_EQ(begun(channels, call, "<|end|><|start|>assistant"), "<|start|>assistant|" + call);
  EXPECT_EQ(begun(channels, "<|start|>assistant" + call), "|<|start|>assistant" + call);
}

TEST(CallParser, ALongCallEndsWhereItIsExpectedTo) {
  const OfferedTools tools = offered(kOffered);
  CallParser parser(hermes(), tools);
  const std::string text(9000, '}');
  parser.feed(R"(<tool_call>{"name": "find", "arguments": {"what": ")" + text);
  EXPECT_TRUE(parser.feed("\"}").empty());
  parser.expect_end();
  EXPECT_EQ(parts_of(parser.feed("}")), "find{\"what\": \"" + text + "\"};");
}

TEST(CallParser, LongCallsTakeLinearTime) {
  const OfferedTools tools = offered(kOffered);
  const std::string text(200'000, '}');
  CallParser parser(hermes(), tools);
  std::vector<AnswerEvent> events =
      parser.feed(R"(<tool_call>{"name": "find", "arguments": {"what": ")");
  for (const char c : text)
    for (AnswerEvent& event : parser.feed(std::string_view(&c, 1)))
      events.push_back(std::move(event));
  EXPECT_TRUE(events.empty());
  for (AnswerEvent& event : parser.feed("\"}}</tool_call>")) events.push_back(std::move(event));
  for (AnswerEvent& event : parser.finish()) events.push_back(std::move(event));
  EXPECT_EQ(parts_of(events), "find{\"what\": \"" + text + "\"};");
}

}  // namespace
}  // namespace pando::testing
