// Offered tools, the choice among them, their older names, and the budget of reasoning.
#include "ask/call_fields.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "ask/chat_fields.h"
#include "ask/openai_request.h"

namespace pando::ask {
namespace {

Json parsed(const std::string& text) { return parse_json(text, LargeNumbers::kKept).value(); }

const std::string kTools = R"("tools": [{"type": "function", "function": {"name": "a"}},
    {"type": "function", "function": {"name": "b", "parameters": {"type": "object"}}}])";
const std::string kFunctions = R"("functions": [{"name": "a", "description": "d"}, {"name": "b"}])";

// A chat's request, or why there is none.
Result<OpenAiRequest> read_chat(const std::string& fields) {
  const std::string text = R"({"messages": [{"role": "user", "content": "Q"}], )" + fields + "}";
  return parse_openai_request(Endpoint::kChat, parsed(text), OpenAiRules());
}
Request asked(const std::string& fields) {
  Result<OpenAiRequest> read = read_chat(fields);
  EXPECT_TRUE(read.ok()) << fields << ": " << read.error().message();
  return read ? std::move(read->requests[0]) : Request();
}
std::string refused(const std::string& fields) {
  const Result<OpenAiRequest> read = read_chat(fields);
  EXPECT_FALSE(read.ok()) << fields;
  return read ? "" : read.error().message();
}

TEST(CallFields, AChoiceNamesTools) {
  using Names = std::vector<std::string>;
  const auto of = [](const std::string& choice) {
    return asked(kTools + R"(, "tool_choice": )" + choice).calling;
  };
  EXPECT_FALSE(of(R"("auto")").required);
  EXPECT_TRUE(of(R"("required")").required);
  EXPECT_TRUE(of(R"("required")").allowed.empty());
  for (const char* named : {R"({"type": "function", "function": {"name": "b"}})",
                            R"({"type": "function", "name": "b"})"}) {
    EXPECT_TRUE(of(named).required) << named;
    EXPECT_EQ(of(named).allowed, Names{"b"}) << named;
  }
  const std::string form = R"(, "response_format": {"type": "json_object"})";
  EXPECT_TRUE(asked(kTools + form).sampling.form);
  EXPECT_FALSE(asked(kTools + form + R"(, "tool_choice": "required")").sampling.form);
  EXPECT_TRUE(asked(kTools + R"(, "tool_choice": "required", "guided_regex": "a",
                                  "response_format": {"type": "text"})")
                  .sampling.form)
      << "the format is not what asks for it";
  const std::string only_a = R"([{"type": "function", "function": {"name": "a"}}])",
                    both = R"([{"type": "function", "name": "b"}, {"type": "function", "name": "a"},
                               {"type": "function", "name": "b"}])";
  const CallOptions may = of(
      R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": )" + only_a + "}}");
  EXPECT_FALSE(may.required);
  EXPECT_EQ(may.allowed, Names{"a"});
  const CallOptions must =
      of(R"({"type": "allowed_tools", "mode": "required", "tools": )" + both + "}");
  EXPECT_TRUE(must.required);
  EXPECT_EQ(must.allowed, (Names{"a", "b"}));
  EXPECT_TRUE(asked(kTools + R"(, "tool_choice": "none")").chat.tools.is_null());
  EXPECT_FALSE(asked(kTools + R"(, "parallel_tool_calls": false)").calling.parallel);
}

TEST(CallFields, AChoiceIsAmongTheTools) {
  const std::string choice = R"(, "tool_choice": )";
  EXPECT_EQ(refused(R"("tool_choice": "required")"),
            "field 'tool_choice' asks for a call, but 'tools' offers no function");
  EXPECT_EQ(refused(R"("tools": [], "tool_choice": "required")"),
            "field 'tool_choice' asks for a call, but 'tools' offers no function");
  for (
      const auto& [value, message] : std::vector<std::array<std::string, 2>>{
          {R"("any")", R"(field 'tool_choice' is "any", expected "auto", "none", "required" or an )"
                       "object with a 'type'"},
          {"5", R"(field 'tool_choice' is 5, expected "auto", "none", "required" or an object )"
                "with a 'type'"},
          {R"({"type": "custom"})", R"(field 'tool_choice.type' is "custom", expected "function" )"
                                    R"(or "allowed_tools")"},
          {"{}", R"(field 'tool_choice.type' is absent, expected "function" or "allowed_tools")"},
          {R"({"type": "function", "function": {"name": "c"}})",
           R"(field 'tool_choice.function.name' is "c", expected the name of a function in 'tools')"},
          {R"({"type": "function", "name": "c"})",
           R"(field 'tool_choice.name' is "c", expected the name of a function in 'tools')"},
          {R"({"type": "function", "function": "a"})",
           R"(field 'tool_choice.function' is "a", expected an object with a 'name')"},
          {R"({"type": "allowed_tools", "allowed_tools": {"mode": "any", "tools": []}})",
           R"(field 'tool_choice.allowed_tools.mode' is "any", expected "auto" or "required")"},
          {R"({"type": "allowed_tools", "mode": "auto", "tools": []})",
           "field 'tool_choice.tools' is [], expected a non-empty list"},
          {R"({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "mcp"}]})",
           R"(field 'tool_choice.tools[0].type' is "mcp", expected "function")"},
          {R"({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function"}]})",
           "field 'tool_choice.tools[0].name' is absent, expected the name of a function"}})
    EXPECT_EQ(refused(kTools + choice + value), message) << value;
}

TEST(CallFields, ToolsAreToldApart) {
  const auto with = [](const std::string& function) {
    return R"("tools": [{"type": "function", "function": {"name": "a"}},
               {"type": "function", "function": )" +
           function + "}]";
  };
  EXPECT_EQ(refused(with(R"({"name": "a"})")),
            "field 'tools[1].function.name' is \"a\", the name of tools[0] too, expected another "
            "name");
  EXPECT_EQ(refused(with(R"({"name": "b", "strict": "yes"})")),
            "field 'tools[1].function.strict' is \"yes\", expected true or false");
  EXPECT_TRUE(asked(with(R"({"name": "b", "strict": true})")).calling.strict);
  EXPECT_FALSE(asked(with(R"({"name": "b", "strict": null})")).calling.strict);
}

TEST(CallFields, AToolWithoutParametersHasNone) {
  const std::string none = R"("parameters":{"type":"object","properties":{}}}}])";
  for (const char* function : {R"({"name": "a", "parameters": null})", R"({"name": "a"})"})
    EXPECT_EQ(asked(R"("tools": [{"type": "function", "function": )" + std::string(function) + "}]")
                  .chat.tools.text(),
              R"([{"type":"function","function":{"name":"a",)" + none)
        << function;
}

TEST(CallFields, OlderFunctionsAreTools) {
  const Result<OpenAiRequest> read = read_chat(kFunctions);
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(read->form.functions);
  const Request& request = read->requests[0];
  EXPECT_FALSE(request.calling.parallel);
  EXPECT_EQ(request.chat.tools.text(),
            R"([{"type":"function","function":{"name":"a","description":"d",)"
            R"("parameters":{"type":"object","properties":{}}}},)"
            R"({"type":"function","function":{"name":"b",)"
            R"("parameters":{"type":"object","properties":{}}}}])");
  const CallOptions named = asked(kFunctions + R"(, "function_call": {"name": "b"})").calling;
  EXPECT_TRUE(named.required);
  EXPECT_EQ(named.allowed, std::vector<std::string>{"b"});
  EXPECT_TRUE(asked(kFunctions + R"(, "function_call": "none")").chat.tools.is_null());
  EXPECT_FALSE(read_chat(R"("functions": [], "function_call": "auto")")->form.functions);
  for (const auto& [fields, message] : std::vector<std::array<std::string, 2>>{
           {kFunctions + R"(, "function_call": {"name": "c"})",
            "field 'function_call.name' is \"c\", expected the name of a function in 'functions'"},
           {kFunctions + R"(, "function_call": "required")",
            "field 'function_call' is \"required\", expected \"auto\", \"none\" or an object with "
            "a 'name'"},
           {R"("function_call": {"name": "c"})",
            "field 'function_call.name' is \"c\", expected the name of a function in 'functions'"},
           {kFunctions + ", " + kTools, "field 'tools' cannot be combined with 'functions'"},
           {R"("functions": [{"name": "a"}, {"name": "a"}])",
            "field 'functions[1].name' is \"a\", the name of functions[0] too, expected another "
            "name"},
           {R"("functions": [5])", "field 'functions' has 5 in it, expected only objects"}})
    EXPECT_EQ(refused(fields), message);
}

TEST(CallFields, OlderMessagesAreThoseOfTools) {
  const auto read = [](const std::string& messages) { return read_messages(parsed(messages)); };
  const auto messages = read(R"([{"role": "user", "content": "Q"},
      {"role": "assistant", "content": null, "function_call": {"name": "a", "arguments": "{}"}},
      {"role": "function", "name": "a", "content": "1"},
      {"role": "assistant", "function_call": {"name": "b", "arguments": {"x": 1}}},
      {"role": "function", "name": "b", "content": "2"}])");
  ASSERT_TRUE(messages.ok()) << messages.error().message();
  EXPECT_EQ((*messages)[1].role, "assistant");
  EXPECT_EQ((*messages)[1].fields.text(),
            R"({"role":"assistant","tool_calls":[{"id":"call00001","type":)"
            R"("function","function":{"name":"a","arguments":"{}"}}],"content":null})");
  EXPECT_EQ((*messages)[2].role, "tool");
  EXPECT_EQ((*messages)[2].content, "1");
  EXPECT_EQ((*messages)[2].fields.text(),
            R"({"role":"tool","name":"a","tool_call_id":"call00001"})");
  EXPECT_EQ((*messages)[4].fields.text(),
            R"({"role":"tool","name":"b","tool_call_id":"call00002"})");
  for (const auto& [call, message] : std::vector<std::array<std::string, 2>>{
           {R"({"arguments": "{}"})",
            "field 'messages[0].function_call.name' is absent, expected "
            "the name of a function"},
           {R"({"name": "a", "arguments": 5})",
            "field 'messages[0].function_call.arguments' is 5, "
            "expected a string or an object"},
           {R"("a")", "field 'messages[0].function_call' is \"a\", expected null or []"}})
    EXPECT_EQ(read(R"([{"role": "assistant", "function_call": )" + call + "}]").error().message(),
              message);
}

// Results of tools, as clients send them.
TEST(CallFields, ResultsKeepTheirCall) {
  const auto messages = read_messages(parsed(R"([{"role": "tool", "tool_call_id": "x",
      "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]}])"));
  ASSERT_TRUE(messages.ok()) << messages.error().message();
  EXPECT_EQ((*messages)[0].content, "12");
  EXPECT_EQ((*messages)[0].fields.text(),
            R"({"role":"tool","tool_call_id":"x","content":[{"type":"text","text":"1"},)"
            R"({"type":"text","text":"2"}]})");
}

TEST(CallFields, ABudgetHasTwoNames) {
  EXPECT_EQ(asked(R"("thinking_budget": 0)").thinking_budget, 0);
  EXPECT_EQ(asked(R"("thinking_token_budget": 7, "thinking_budget": 7)").thinking_budget, 7);
  EXPECT_EQ(asked(R"("thinking_budget": null)").thinking_budget, std::nullopt);
  const Request of_template = asked(R"("chat_template_kwargs": {"thinking_budget": 5})");
  EXPECT_EQ(of_template.thinking_budget, std::nullopt);
  EXPECT_EQ(refused(R"("thinking_budget": -1)"),
            "field 'thinking_budget' is -1, expected 0 or more");
  EXPECT_EQ(refused(R"("thinking_token_budget": 7, "thinking_budget": 8)"),
            "field 'thinking_token_budget' is 7, expected the value of 'thinking_budget', which "
            "means the same");
}

}  // namespace
}  // namespace pando::ask
