// Warnings about probable mistakes in valid schemas.
#include <gtest/gtest.h>

#include "grammar_testing.h"

namespace pando::testing {
namespace {

using Told = std::vector<std::string>;

Told warnings_of(const std::string& schema) {
  Told warnings = {"not set"};
  compiled(grammar::from_json_schema(schema, &warnings));
  return warnings;
}

std::string untyped(const std::string& place, const std::string& keyword, const std::string& type) {
  return place + " has '" + keyword + "' but no 'type', so any JSON of a type other than " + type +
         " fits it too (hint: add \"type\": \"" + type + "\")";
}

TEST(GrammarOversights, KeywordsWithoutATypeAreWarnedOf) {
  const std::string schema = R"({"properties": {"a": {"type": "string"}}, "required": ["a"]})";
  expect_reads(compiled(grammar::from_json_schema(schema)), {"5", "[]", R"({"a":""})"}, {"{}"});
  EXPECT_EQ(warnings_of(schema), Told{untyped("the schema", "properties", "object")});
  EXPECT_EQ(warnings_of(R"({"type": "object", "properties": {"a": {"maxLength": 5}, "b": {
                            "items": {"minimum": 3}}}})"),
            (Told{untyped("'#/properties/a'", "maxLength", "string"),
                  untyped("'#/properties/b'", "items", "array"),
                  untyped("'#/properties/b/items'", "minimum", "number")}));
  EXPECT_EQ(warnings_of(R"({"anyOf": [{"type": "null"}, {"format": "date"}]})"),
            Told{untyped("'#/anyOf/1'", "format", "string")});
  EXPECT_EQ(
      warnings_of(R"({"$ref": "#/$defs/a", "$defs": {"a": {"additionalProperties": false}}})"),
      Told{untyped("'#/$defs/a'", "additionalProperties", "object")});
}

TEST(GrammarOversights, ATypeOfAnotherSchemaThatAppliesIsEnough) {
  for (const char* none :
       {R"({"type": "object", "properties": {"a": {}, "b": {}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})",
        R"({"allOf": [{"type": "object"}, {"properties": {"a": {}}}]})",
        R"({"$ref": "#/$defs/a", "properties": {"b": {}}, "$defs": {"a": {"type": "object"}}})",
        R"({"anyOf": [{"type": "string"}, {"type": "integer"}], "maxLength": 3, "minimum": 1})",
        R"({"type": ["string", "integer"], "maxLength": 3, "minimum": 1})",
        R"({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}})",
        R"({"type": "object", "properties": {"k": {"type": "string"}},
            "if": {"properties": {"k": {"const": "a"}}}, "then": {"required": ["k"]}})",
        R"({"type": "object", "not": {"required": ["a"]}})",
        R"({"enum": ["a", "b"], "maxLength": 3})",
        // They say nothing.
        R"({"properties": {}, "required": [], "additionalProperties": true})",
        R"({"type": "string", "minItems": 0, "uniqueItems": false, "items": {}})"})
    EXPECT_EQ(warnings_of(none), Told()) << none;
}

TEST(GrammarOversights, KeywordsForAnotherTypeAreWarnedOf) {
  const auto told = [](const std::string& place, const std::string& for_type,
                       const std::string& type, const std::string& hint) {
    return "'" + place + "' has no effect: it applies to the type " + for_type +
           ", but the type there is " + type + hint;
  };
  EXPECT_EQ(warnings_of(R"({"type": "integer", "maxLength": 3})"),
            Told{told("#/maxLength", "string", "integer", " (hint: 'maximum'?)")});
  EXPECT_EQ(warnings_of(R"({"type": "string", "maximum": 3})"),
            Told{told("#/maximum", "number", "string", " (hint: 'maxLength'?)")});
  EXPECT_EQ(warnings_of(R"({"type": ["array", "null"], "minLength": 3})"),
            Told{told("#/minLength", "string", "array or null", " (hint: 'minItems'?)")});
  EXPECT_EQ(warnings_of(R"({"type": "object", "properties": {"a": {"type": "string",
                            "items": {"type": "string"}}}})"),
            Told{told("#/properties/a/items", "array", "string", "")});
  EXPECT_EQ(warnings_of(R"({"type": "number", "format": "date"})"),
            Told{told("#/format", "string", "number", "")});
  EXPECT_EQ(warnings_of(R"({"type": "string", "format": "int32"})"),
            Told{told("#/format", "number", "string", "")});
}

TEST(GrammarOversights, RequiredNamesThatAreNoPropertiesAreWarnedOf) {
  EXPECT_EQ(warnings_of(R"({"type": "object", "properties": {"name": {"type": "string"}},
                            "required": ["name", "nmae"]})"),
            Told{"'#/required/1' is 'nmae', which is not in 'properties', so each answer has it "
                 "with any value (hint: 'name'?)"});
  EXPECT_EQ(warnings_of(R"({"type": "object", "properties": {"name": {"type": "string"}},
                            "required": ["colour"]})"),
            Told{"'#/required/0' is 'colour', which is not in 'properties', so each answer has it "
                 "with any value"});
  // The schema constrains the value.
  for (const char* none :
       {R"({"type": "object", "required": ["a"], "additionalProperties": {"type": "null"}})",
        R"({"type": "object", "properties": {"b": {}}, "required": ["a"],
            "patternProperties": {"^a": {"type": "null"}}})",
        R"({"type": "object", "allOf": [{"properties": {"a": {}}}, {"required": ["a"]}]})",
        R"({"type": "object", "required": ["a"]})"})
    EXPECT_EQ(warnings_of(none), Told()) << none;
  expect_grammar_refused(
      grammar::from_json_schema(R"({"type": "object", "properties": {"name": {}},
                                    "required": ["nmae"], "additionalProperties": false})"),
      ErrorCode::kInvalidArgument,
      "'#/required' has 'nmae' (hint: 'name'?), but '#/additionalProperties' is false");
}

TEST(GrammarOversights, ValuesThatOtherKeywordsExcludeAreWarnedOf) {
  EXPECT_EQ(warnings_of(R"({"type": "string", "enum": ["a", 1]})"),
            Told{"'#/enum/1' is 1, but other keywords exclude it, so no answer has it"});
  // It fits an alternative, or is excluded by name.
  for (const char* none : {R"({"enum": ["a", 1], "anyOf": [{"type": "string"}, {"minimum": 1,
                               "type": "integer"}]})",
                           R"({"enum": ["a", "b"], "not": {"const": "b"}})"})
    EXPECT_EQ(warnings_of(none), Told()) << none;
}

TEST(GrammarOversights, UnknownFormatsAreAnnotations) {
  for (const char* format : {"path", "uuid4", "binary", "password", "byte", "iri", "regex"}) {
    const std::string schema =
        R"({"type": "object", "properties": {"a": {"type": "string", "format": ")" +
        std::string(format) + R"(", "maxLength": 3}}, "required": ["a"]})";
    expect_reads(compiled(grammar::from_json_schema(schema)), {R"({"a":"x y"})"},
                 {R"({"a":"x yz"})", R"({"a":1})"});
    const Told told = warnings_of(schema);
    ASSERT_EQ(told.size(), 1u) << format;
    EXPECT_TRUE(told[0].starts_with("'#/properties/a/format' is '" + std::string(format) +
                                    "', a format that is not enforced"))
        << told[0];
  }
  const std::string not_enforced = ", a format that is not enforced";
  EXPECT_EQ(warnings_of(R"({"type": "string", "format": "datetime"})"),
            Told{"'#/format' is 'datetime'" + not_enforced + " (hint: 'date-time'?)"});
  EXPECT_EQ(warnings_of(R"({"type": "integer", "format": "int8"})"),
            Told{"'#/format' is 'int8'" + not_enforced});
  // At any place of a schema.
  EXPECT_EQ(warnings_of(R"({"type": "object", "propertyNames": {"format": "path"}})"),
            Told{"'#/propertyNames/format' is 'path'" + not_enforced});
  EXPECT_EQ(warnings_of(R"({"enum": ["a"], "format": "path"})"),
            Told{"'#/format' is 'path'" + not_enforced});
  EXPECT_EQ(
      warnings_of(R"({"type": ["string", "null"], "not": {"type": "null", "format": "path"}})"),
      Told{"'#/not/format' is 'path'" + not_enforced});
}

TEST(GrammarOversights, TheFirstEightAreTold) {
  std::string schema = R"({"type": "object", "properties": {)";
  for (char name = 'a'; name < 'k'; ++name)
    schema += std::string(name == 'a' ? "" : ",") + "\"" + name + R"(": {"maxLength": 3})";
  const Told told = warnings_of(schema + "}}");
  ASSERT_EQ(told.size(), 8u);
  EXPECT_EQ(told.back(), untyped("'#/properties/h'", "maxLength", "string"));
}

}  // namespace
}  // namespace pando::testing
