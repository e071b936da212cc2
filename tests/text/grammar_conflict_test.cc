// The message of a form that no text fits names the places that contradict each other.
#include <gtest/gtest.h>

#include "grammar_testing.h"

namespace pando::testing {
namespace {

using grammar::from_json_schema;

void expect_conflict(const std::string& schema, const std::string& places) {
  SCOPED_TRACE(schema);
  const auto grammar = from_json_schema(schema);
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(error_code_name(grammar.error().code), std::string("invalid_argument"));
  EXPECT_EQ(grammar.error().message(), "no text fits the schema: " + places);
}

TEST(GrammarConflict, OfNumbers) {
  expect_conflict(
      R"({"type": "object", "properties": {"age": {"type": "integer", "minimum": 10, "maximum": 5}},
          "required": ["age"]})",
      "'#/properties/age/minimum' is 10, but '#/properties/age/maximum' is 5");
  expect_conflict(
      R"({"type": "integer", "allOf": [{"exclusiveMinimum": 3}, {"exclusiveMaximum": 4}]})",
      "'#/type' is \"integer\", but '#/allOf/0/exclusiveMinimum' is 3 and "
      "'#/allOf/1/exclusiveMaximum' is 4");
  expect_conflict(R"({"type": "integer", "minimum": 4, "maximum": 6, "multipleOf": 7})",
                  "'#/type' is \"integer\", but '#/minimum' is 4 and '#/maximum' is 6 and "
                  "'#/multipleOf' is 7");
  // Equal bounds leave their number, unless one of them is exclusive.
  expect_conflict(R"({"type": "integer", "minimum": 5, "maximum": 5, "multipleOf": 2})",
                  "'#/type' is \"integer\", but '#/minimum' is 5 and '#/maximum' is 5 and "
                  "'#/multipleOf' is 2");
  expect_conflict(R"({"type": "number", "minimum": 5, "exclusiveMaximum": 5})",
                  "'#/minimum' is 5, but '#/exclusiveMaximum' is 5");
  expect_conflict(
      R"({"$schema": "http://json-schema.org/draft-04/schema#", "type": "number", "minimum": 5,
          "exclusiveMinimum": true, "maximum": 5})",
      "'#/minimum' is 5, but '#/exclusiveMinimum' is true and '#/maximum' is 5");
  expect_conflict(
      R"({"type": "integer", "maximum": 20, "allOf": [{"minimum": 9}, {"maximum": 3}]})",
      "'#/allOf/0/minimum' is 9, but '#/maximum' is 20 and '#/allOf/1/maximum' is 3");
  // Does not blame keywords that are not about numbers.
  expect_conflict(
      R"({"type": "number", "minimum": 4, "maximum": 6, "multipleOf": 7, "format": "email",
          "not": {"const": "a"}})",
      "'#/minimum' is 4, but '#/maximum' is 6 and '#/multipleOf' is 7");
}

TEST(GrammarConflict, OfValues) {
  expect_conflict(R"({"enum": []})", "'#/enum' is []");
  expect_conflict(R"({"enum": [1, 2], "allOf": [{"enum": [3]}]})",
                  "'#/enum' is [1,2], but '#/allOf/0/enum' is [3]");
  expect_conflict(R"({"const": 5, "type": "string"})",
                  "'#/type' is \"string\", but '#/const' is 5");
  expect_conflict(
      R"({"type": "string", "enum": ["abc", "abcd"], "maxLength": 2})",
      "'#/enum' is [\"abc\",\"abcd\"], but '#/type' is \"string\" and '#/maxLength' is 2");
  expect_conflict(R"({"type": "string", "allOf": [{"type": "null"}]})",
                  "'#/type' is \"string\", but '#/allOf/0/type' is \"null\"");
  expect_conflict(R"({"type": "string", "not": {"type": "string"}})",
                  "'#/type' is \"string\", but '#/not' sets another condition");
  expect_conflict(R"({"enum": [1, "a"], "type": "string", "minLength": 2})",
                  "'#/enum' is [1,\"a\"], but '#/type' is \"string\" and '#/minLength' is 2");
  expect_conflict(
      R"({"enum": [1, "a"], "type": "string", "allOf": [{"enum": [1, 5]}]})",
      "'#/type' is \"string\", but '#/enum' is [1,\"a\"] and '#/allOf/0/enum' is [1,5]");
  expect_conflict(
      R"({"type": ["string", "null"], "allOf": [{"type": ["null", "integer"]},
          {"type": ["string", "integer"]}]})",
      "'#/type' is [\"string\",\"null\"], but '#/allOf/0/type' is [\"null\",\"integer\"] and "
      "'#/allOf/1/type' is [\"string\",\"integer\"]");
}

TEST(GrammarConflict, OfValuesAndOtherKeywords) {
  expect_conflict(
      R"({"const": {"a": 1}, "additionalProperties": false,
          "properties": {"a": {"type": "string"}}})",
      "'#/const' is {\"a\":1}, but '#/additionalProperties' is false and '#/properties' is "
      "{\"a\":{\"type\":\"string\"}}");
  expect_conflict(R"({"const": ["a", 2], "prefixItems": [{"type": "string"}], "items": false})",
                  "'#/const' is [\"a\",2], but '#/prefixItems' is [{\"type\":\"string\"}] and "
                  "'#/items' is false");
  expect_conflict(
      R"({"$schema": "http://json-schema.org/draft-04/schema#", "const": 5, "minimum": 5,
          "exclusiveMinimum": true})",
      "'#/const' is 5, but '#/minimum' is 5 and '#/exclusiveMinimum' is true");
  expect_conflict(
      R"({"const": ["a", 1], "contains": {"type": "string"}, "minContains": 2})",
      "'#/const' is [\"a\",1], but '#/contains' is {\"type\":\"string\"} and '#/minContains' is 2");
  // Only the first of many.
  expect_conflict(
      R"({"const": 1, "minimum": 2, "maximum": 3, "minLength": 4, "maxLength": 5, "minItems": 6,
          "title": "t", "maxItems": 7, "format": "path"})",
      "'#/const' is 1, but '#/minimum' is 2 and '#/maximum' is 3 and '#/minLength' is 4 and "
      "'#/maxLength' is 5 and '#/minItems' is 6 and 2 other conditions");
}

TEST(GrammarConflict, OfStrings) {
  expect_conflict(R"({"type": "string", "minLength": 3, "maxLength": 2})",
                  "'#/minLength' is 3, but '#/maxLength' is 2");
  expect_conflict(R"({"type": "string", "pattern": "^abc$", "maxLength": 2})",
                  "'#/pattern' is \"^abc$\", but '#/maxLength' is 2");
}

TEST(GrammarConflict, OfArrays) {
  expect_conflict(R"({"type": "array", "minItems": 3, "maxItems": 2})",
                  "'#/minItems' is 3, but '#/maxItems' is 2");
  expect_conflict(R"({"type": "array", "minItems": 1, "items": false})",
                  "'#/minItems' is 1, but '#/items' is false");
  expect_conflict(
      R"({"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 2, "maxLength": 1}})",
      "'#/items/minLength' is 2, but '#/items/maxLength' is 1");
  expect_conflict(R"({"type": "array", "items": {"type": "string"}, "contains": {"type": "null"}})",
                  "'#/items/type' is \"string\", but '#/contains/type' is \"null\"");
  expect_conflict(
      R"({"type": "array", "contains": {"type": "null"}, "minContains": 3, "maxItems": 2})",
      "'#/contains' is {\"type\":\"null\"}, but '#/minContains' is 3 and '#/maxItems' is 2");
  expect_conflict(
      R"({"type": "array", "items": {"type": "string"}, "additionalItems": false, "maxItems": 0,
          "contains": true})",
      "'#/contains' is true, but '#/maxItems' is 0 and '#/items' is {\"type\":\"string\"}");
}

TEST(GrammarConflict, OfObjects) {
  expect_conflict(
      R"({"type": "object", "properties": {"a": {}}, "required": ["a", "b"], "additionalProperties": false})",
      "'#/required' has 'b', but '#/additionalProperties' is false");
  expect_conflict(R"({"type": "object", "properties": {"a/b": false}, "required": ["a/b"]})",
                  "'#/required' has 'a/b', but '#/properties/a~1b' is false");
  expect_conflict(R"({"type": "object", "required": ["a", "b"], "maxProperties": 1})",
                  "'#/required' is [\"a\",\"b\"], but '#/maxProperties' is 1");
  expect_conflict(R"({"type": "object", "required": ["b"], "propertyNames": {"const": "a"}})",
                  "'#/required' has 'b', but '#/propertyNames' is {\"const\":\"a\"}");
  expect_conflict(R"({"type": "object", "additionalProperties": false, "minProperties": 1})",
                  "'#/minProperties' is 1, but '#/additionalProperties' is false");
}

TEST(GrammarConflict, OfAlternatives) {
  expect_conflict("false", "'#' is false");
  expect_conflict(R"({"allOf": [{}, false]})", "'#/allOf/1' is false");
  expect_conflict(
      R"({"anyOf": [{"type": "string", "minLength": 2, "maxLength": 1}, {"enum": []}]})",
      "none of 2 alternatives is possible; in one of them, '#/anyOf/0/minLength' is 2, but "
      "'#/anyOf/0/maxLength' is 1");
  expect_conflict(
      R"({"$ref": "#/$defs/n", "$defs": {"n": {"type": "number", "minimum": 2, "maximum": 1}}})",
      "'#/$defs/n/minimum' is 2, but '#/$defs/n/maximum' is 1");
  expect_conflict(
      R"({"type": ["string", "integer"], "minLength": 2, "maxLength": 1, "minimum": 4,
          "maximum": 3})",
      "none of 2 types is possible; for one of them, '#/minimum' is 4, but '#/maximum' is 3");
  // A schema that two places refer to.
  expect_conflict(
      R"({"anyOf": [{"$ref": "#/$defs/n"}, {"$ref": "#/$defs/n"}], "$defs": {"n": false}})",
      "'#/$defs/n' is false");
}

TEST(GrammarConflict, WithoutEnd) {
  expect_conflict(
      R"({"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]})",
      "every text would be endless, because each value of '#/properties/next' must contain another "
      "one");
  // Names a contradiction rather than the circle beside it.
  expect_conflict(
      R"({"type": "object", "properties": {"next": {"$ref": "#"}, "b": {"enum": []}},
          "required": ["next", "b"]})",
      "'#/properties/b/enum' is []");
  expect_conflict(
      R"({"type": "array", "minItems": 1, "items": {"$ref": "#"}})",
      "every text would be endless, because each value of '#/items' must contain another one");
  // A schema that two properties have is no circle.
  expect_conflict(
      R"({"type": "object", "required": ["a", "b", "c"], "properties": {
          "a": {"$ref": "#/$defs/s"}, "b": {"$ref": "#/$defs/s"}, "c": {"enum": []}},
          "$defs": {"s": {"type": "object", "properties": {"s": {"$ref": "#/$defs/s"}},
          "required": ["s"]}}})",
      "'#/properties/c/enum' is []");
  // One of several circles is not the reason for all.
  expect_conflict(
      R"({"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
          {"type": "object", "required": ["b"], "properties": {"b": {"$ref": "#"}}}]})",
      "every text would be endless");
}

TEST(GrammarConflict, OfRules) {
  expect_grammar_refused(
      grammar::from_gbnf("root ::= \"a\" list\nlist ::= \"[\" item \"]\"\nitem ::= \"x\" item"),
      ErrorCode::kInvalidArgument, "grammar: no text fits rule 'item'");
  expect_grammar_refused(grammar::from_lark("start: \"a\" b\nb: \"b\" b"),
                         ErrorCode::kInvalidArgument, "Lark grammar: no text fits rule 'b'");
  expect_grammar_refused(grammar::from_regex("a[]"), ErrorCode::kInvalidArgument,
                         "no text fits the pattern 'a[]'");
}

}  // namespace
}  // namespace pando::testing
