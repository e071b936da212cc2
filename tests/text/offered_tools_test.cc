// Values that models write as texts, read by the schemas of tools.
#include "text/calls/offered_tools.h"

#include "text/calls/literal.h"
#include "text/calls_testing.h"

namespace pando::testing {
namespace {

using calls::CallJson;
using calls::OfferedTools;

std::string read_as(std::string_view schema, std::string_view text) {
  const OfferedTools tools =
      offered(R"([{"name": "f", "parameters": {"$defs": {"D": {"type": "string"}},
      "properties": {"p": )" +
              std::string(schema) + "}}}]");
  return tools.value_of("f", "p", text).dump();
}

TEST(OfferedTools, AreReadInEachForm) {
  for (
      const std::string_view json :
      {R"([{"type": "function", "function": {"name": "f", "parameters": {"properties": {"p": {}}}}}])",
       R"([{"name": "f", "parameters": {"properties": {"p": {}}}}])",
       R"([{"name": "f", "input_schema": {"properties": {"p": {}}}}])"}) {
    const OfferedTools tools = offered(json);
    EXPECT_TRUE(tools.has("f"));
    EXPECT_FALSE(tools.has("g"));
    EXPECT_NE(tools.schema_of("f", "p"), nullptr);
    EXPECT_EQ(tools.schema_of("f", "q"), nullptr);
    EXPECT_EQ(tools.schema_of("g", "p"), nullptr);
  }
  EXPECT_TRUE(offered("").empty());
  EXPECT_TRUE(offered("[{\"type\": \"web_search\"}, 3]").empty());
  EXPECT_FALSE(OfferedTools::parse("{}").ok());
  EXPECT_FALSE(OfferedTools::parse("[").ok());
}

TEST(OfferedTools, ValuesHaveTheTypesOfTheirSchemas) {
  EXPECT_EQ(read_as(R"({"type": "string"})", "12"), R"("12")");
  EXPECT_EQ(read_as(R"({"type": "string"})", "true"), R"("true")");
  EXPECT_EQ(read_as(R"({"type": "string"})", "{\"a\": 1}"), R"("{\"a\": 1}")");
  EXPECT_EQ(read_as(R"({"type": "string"})", " a\n"), R"(" a\n")");
  EXPECT_EQ(read_as(R"({"type": "integer"})", " 12\n"), "12");
  EXPECT_EQ(read_as(R"({"type": "number"})", "-1.5e3"), "-1500.0");
  EXPECT_EQ(read_as(R"({"type": "integer"})", "twelve"), R"("twelve")");
  EXPECT_EQ(read_as(R"({"type": "boolean"})", "True"), "true");
  EXPECT_EQ(read_as(R"({"type": "array"})", "['a', None, 1]"), R"(["a",null,1])");
  EXPECT_EQ(read_as(R"({"type": "object"})", "{'a': \"it's\", 'b': (1, 2)}"),
            R"({"a":"it's","b":[1,2]})");
  EXPECT_EQ(read_as(R"({"type": ["string", "null"]})", "null"), "null");
  EXPECT_EQ(read_as(R"({"type": ["string", "null"]})", "12"), R"("12")");
  EXPECT_EQ(read_as(R"({"anyOf": [{"type": "integer"}, {"type": "null"}]})", "12"), "12");
  EXPECT_EQ(read_as(R"({"anyOf": [{"type": "string"}, {"type": "object"}]})", "{\"a\": 1}"),
            R"({"a":1})");
  EXPECT_EQ(read_as(R"({"type": "string", "nullable": true})", "None"), "null");
  EXPECT_EQ(read_as(R"({"enum": ["1", "2"]})", "1"), R"("1")");
  EXPECT_EQ(read_as(R"({"enum": [1, 2]})", "1"), "1");
  EXPECT_EQ(read_as(R"({"const": "1"})", "1"), R"("1")");
  EXPECT_EQ(read_as(R"({"$ref": "#/$defs/D"})", "1"), R"("1")");
}

// A text whose schema says nothing is JSON where it can be.
TEST(OfferedTools, ValuesWithoutTypes) {
  EXPECT_EQ(read_as("{}", "12"), "12");
  EXPECT_EQ(read_as("{}", "007"), R"("007")");
  EXPECT_EQ(read_as("{}", "\"a\""), R"("\"a\"")");
  EXPECT_EQ(read_as("{}", "[1]"), "[1]");
  EXPECT_EQ(read_as("{}", "some text"), R"("some text")");
  EXPECT_EQ(read_as("{}", ""), R"("")");
  EXPECT_EQ(read_as("true", "12"), "12");
}

// References in a circle, and schemas that refer to themselves many times, end.
TEST(OfferedTools, ReferencesInCircles) {
  std::string many = R"({"anyOf": [)";
  for (int i = 0; i < 50; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"$ref": "#/properties/p"})";
  EXPECT_EQ(read_as(many + "]}", "12"), "12");
  EXPECT_EQ(read_as(R"({"$ref": "#"})", "12"), "12");
  EXPECT_EQ(read_as(R"({"$ref": "elsewhere.json"})", "12"), "12");
}

TEST(Literal, ReadsPythonAndBareKeys) {
  const auto read = [](std::string_view text, const calls::LiteralStyle& style) -> std::string {
    calls::Scan scan{.text = text, .is_final = true};
    CallJson value;
    return read_literal(scan, style, value) == calls::Read::kDone ? value.dump() : "broken";
  };
  EXPECT_EQ(read(R"({'a': '\x41\u00e9\n\'', "b": "\ud83d\ude00\q"})", {}),
            "{\"a\":\"A\xc3\xa9\\n'\",\"b\":\"\xf0\x9f\x98\x80\\\\q\"}");
  EXPECT_EQ(
      read("{a:<|q|>x \"y\"\n<|q|>,b:[1,true,None],c:{}}", {.quote = "<|q|>", .bare_keys = true}),
      "{\"a\":\"x \\\"y\\\"\\n\",\"b\":[1,true,null],\"c\":{}}");
  EXPECT_EQ(read("12345678901234567890123", {}),
            calls::parse_value("12345678901234567890123")->dump());
  for (const std::string_view text : {"", "{", "{'a'}", "{'a': }", "[1 2]", "'a", "abc", "{a: 1}"})
    EXPECT_EQ(read(text, {}), "broken") << text;
  EXPECT_EQ(read(std::string(10'000, '['), {}), "broken");
}

TEST(OfferedTools, ManyAlternativesAreReadInPart) {
  std::string schemas;
  for (int i = 0; i < 20'000; ++i) schemas += R"({"type": "integer"}, )";
  EXPECT_EQ(read_as(R"({"anyOf": [)" + schemas + R"({"type": "string"}]})", "12"), "12");
  EXPECT_EQ(read_as(R"({"anyOf": [{"type": "string"}, )" + schemas + R"({}]})", "12"), R"("12")");
}

}  // namespace
}  // namespace pando::testing
