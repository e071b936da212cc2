// The warning about parts of a schema that no value fits.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "grammar_testing.h"
#include "text/grammar/limits.h"

namespace pando::testing {
namespace {

using grammar::from_json_schema;

std::string warning_of(const std::string& schema) {
  std::vector<std::string> warnings = {"not set"};
  compiled(from_json_schema(schema, &warnings));
  return fmt::format("{}", fmt::join(warnings, "; "));
}

void expect_left_out(const std::string& schema, const std::string& place,
                     const std::string& reason) {
  EXPECT_EQ(warning_of(schema),
            "no value fits '" + place + "', so every answer leaves it out: " + reason)
      << schema;
}

TEST(GrammarLeftOut, OptionalProperties) {
  const std::string age =
      R"({"type": "object", "properties": {"name": {"type": "string"},
          "age": {"type": "integer", "minimum": 10, "maximum": 5}}})";
  expect_left_out(age, "#/properties/age",
                  "'#/properties/age/minimum' is 10, but '#/properties/age/maximum' is 5");
  expect_reads(compiled(from_json_schema(age)), {"{}", R"({"name":"a"})"}, {R"({"age":7})"});
  // The required property of an optional object fits no value.
  expect_left_out(
      R"({"type": "object", "properties": {"a/b": {"type": "object", "required": ["c"], "properties": {
                      "c": {"enum": []}}}}})",
      "#/properties/a~1b", "'#/properties/a~1b/properties/c/enum' is []");
  // Two schemas apply to the property.
  expect_left_out(R"({"type": "object", "allOf": [{"properties": {"a": {"type": "string"}}},
                      {"properties": {"b": {}}, "additionalProperties": false}]})",
                  "#/allOf/0/properties/a", "'#/allOf/1/additionalProperties' is false");
  expect_left_out(R"({"type": "object", "properties": {"a": {"type": "string"}},
                      "patternProperties": {"^a": {"type": "null"}}})",
                  "#/properties/a",
                  "'#/properties/a/type' is \"string\", but '#/patternProperties/^a/type' is "
                  "\"null\"");
  expect_left_out(R"({"type": "object", "properties": {"Age": {"type": "integer"}},
                      "propertyNames": {"pattern": "^[a-z]+$"}})",
                  "#/properties/Age", "its name is not valid under 'propertyNames'");
  expect_left_out(R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/loop"}}, "$defs": {
                      "loop": {"type": "object", "required": ["b"], "properties": {"b": {
                      "$ref": "#/$defs/loop"}}}}})",
                  "#/properties/a",
                  "every text would be endless, because each value of '#/$defs/loop/properties/b' "
                  "must contain another one");
}

TEST(GrammarLeftOut, Items) {
  expect_left_out(
      R"({"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 1}})",
      "#/items", "'#/items/minLength' is 2, but '#/items/maxLength' is 1");
  expect_left_out(
      R"({"type": "array", "prefixItems": [{"type": "null"}, {"const": 1, "type": "null"}],
                      "items": {"type": "null"}, "minItems": 1})",
      "#/prefixItems/1", "'#/prefixItems/1/type' is \"null\", but '#/prefixItems/1/const' is 1");
}

TEST(GrammarLeftOut, Alternatives) {
  expect_left_out(
      R"({"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 2, "maximum": 1}]})",
      "#/anyOf/1", "'#/anyOf/1/minimum' is 2, but '#/anyOf/1/maximum' is 1");
  // With the keywords beside it.
  expect_left_out(R"({"type": "object", "properties": {"a": {"type": "string", "oneOf": [
                      {"type": "integer"}, {"maxLength": 2}]}}})",
                  "#/properties/a/oneOf/0",
                  "'#/properties/a/type' is \"string\", but '#/properties/a/oneOf/0/type' is "
                  "\"integer\"");
  // Each integer is a number too, so "oneOf" excludes it.
  EXPECT_TRUE(warning_of(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})")
                  .starts_with("no value fits '#/oneOf/1', so every answer leaves it out"));
  // Does not list the alternatives of an optional property without values.
  EXPECT_TRUE(warning_of(R"({"type": "object", "properties": {"a": {"type": "null", "anyOf": [
                             {"type": "string"}, {"type": "integer"}]}}})")
                  .starts_with("no value fits '#/properties/a', so every answer leaves it out"));
  for (const char* none : {R"({"anyOf": [{"type": "string"}, false]})",
                           R"({"anyOf": [{"type": "string"}, {"not": {}}]})",
                           R"({"oneOf": [{"type": "string"}, {"type": "integer"}]})"})
    EXPECT_EQ(warning_of(none), "") << none;
}

TEST(GrammarLeftOut, SeveralPlacesAreListed) {
  const auto property = [](const std::string& name) {
    return "\"" + name + R"(": {"type": "integer", "minimum": 2, "maximum": 1})";
  };
  const auto told = [](const std::string& name) {
    const std::string place = "'#/properties/" + name;
    return place + "' (" + place + "/minimum' is 2, but " + place + "/maximum' is 1)";
  };
  const std::string begin = R"({"type": "object", "properties": {)" + property("a") + "," +
                            property("b") + "," + property("c");
  const std::string listed =
      "no value fits these parts, so every answer leaves them out: " + told("a") + ", " +
      told("b") + ", " + told("c");
  EXPECT_EQ(warning_of(begin + "}}"), listed);
  EXPECT_EQ(warning_of(begin + "," + property("d") + "}}"), listed + " and others");
}

TEST(GrammarLeftOut, WhatIsMeantIsNotWarnedOf) {
  for (
      const char* none :
      {"true", R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5,
               "maximum": 5}}})",
       // Excluded on purpose.
       R"({"type": "object", "properties": {"a": false, "b": {"not": {}}, "c": {"$ref": "#/$defs/no"}},
               "$defs": {"no": false}})",
       R"({"type": "array", "prefixItems": [{"type": "null"}], "items": false})",
       R"({"type": "array", "maxItems": 0, "items": {"enum": []}})",
       // Possible in one alternative.
       R"({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {}}, "anyOf": [
               {"properties": {"kind": {"const": "a"}}, "additionalProperties": false},
               {"properties": {"kind": {"const": "b"}, "n": {}}, "additionalProperties": false}]})",
       R"({"type": "object", "properties": {"kind": {"enum": ["a", "b"]}, "n": {"type": "integer"}},
               "if": {"properties": {"kind": {"const": "a"}}}, "then": {"properties": {"n": false}},
               "else": {"required": ["n"]}})",
       R"({"type": "object", "properties": {"a": {}, "b": {}}, "dependentRequired": {"a": ["b"]}})",
       // Possible in an object that is listed.
       R"({"type": "object", "properties": {"a": {"type": "integer"}}, "anyOf": [{"const": {"a": 1}},
               {"type": "object", "properties": {"a": {"type": "string"}}}]})",
       // Possible in another place.
       R"({"$defs": {"n": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/n"},
               "b": {"allOf": [{"$ref": "#/$defs/n"}]}, "next": {"$ref": "#"}}})"})
    EXPECT_EQ(warning_of(none), "") << none;
}

TEST(GrammarLeftOut, SchemasOfVeryManyPropertiesAreNotSearched) {
  const auto schema = [](size_t n_objects) {
    std::string text = R"({"type": "object", "properties": {"bad": {"enum": []})";
    for (size_t i = 0; i < n_objects; ++i) {
      text += ",\"o" + std::to_string(i) + R"(": {"type": "object", "properties": {"p": true)";
      for (int k = 1; k < 249; ++k) text += ",\"p" + std::to_string(k) + "\":true";
      text += "}}";
    }
    return text + "}}";
  };
  const size_t n_each = 250;  // places of an object: its own, and its properties
  const size_t most = (grammar::kMostValuePlaces - 1) / n_each;
  EXPECT_NE(warning_of(schema(most)), "");
  EXPECT_EQ(warning_of(schema(most + 1)), "");
}

}  // namespace
}  // namespace pando::testing
