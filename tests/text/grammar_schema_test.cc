// JSON Schema as grammars. json_schema_test.py has thousands of cases more.
#include <fmt/format.h>

#include "grammar_testing.h"

namespace pando::testing {
namespace {

using grammar::from_json_schema;

void expect_schema(const std::string& schema, const std::vector<std::string>& yes,
                   const std::vector<std::string>& no) {
  SCOPED_TRACE(schema);
  expect_reads(compiled(from_json_schema(schema)), yes, no);
}

TEST(GrammarSchema, AnyValue) {
  expect_schema(
      "{}",
      {"null", "true", "-1.5e+3", R"("a\"é\u00e9\ud834\udd1e")", R"({"a":[1,{}],"":null})", "[]"},
      {"", "nul", "01", "1.", R"("\ud834")", "\"\n\"", "[1,]", "{\"a\" :1}", "\"\xFF\""});
  expect_grammar_refused(from_json_schema("false"), ErrorCode::kInvalidArgument, "no text fits");
}

TEST(GrammarSchema, PropertiesInTheirOrder) {
  const std::string schema =
      R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"},
    "c": {"type": "null"}}, "required": ["b"], "additionalProperties": false})";
  expect_schema(schema,
                {R"({"a":1,"b":true,"c":null})", R"({"b":false})", R"({"b":true,"c":null})"},
                {"{}", R"({"a":1})", R"({"b":true,"a":1})", R"({"b":true,"x":1})", R"({"b":true,})",
                 R"({"b":1})"});
}

// Models write JSON with spaces, as others print it.
TEST(GrammarSchema, OneSpaceBehindColonsAndCommas) {
  const std::vector<std::string> no = {R"({"a":  [1]})", R"({"a" : [1]})", R"({ "a": [1]})",
                                       R"({"a": [1] })", R"({"a": [1 ,2]})", R"( {"a": [1]})",
                                       R"({"a": [1]} )", "{\"a\":\n[1]}"};
  const std::vector<std::string> yes = {R"({"a": [1, 2], "b": {"c": "x"}})",
                                        R"({"a":[1, 2],"b": {"c":"x"}})", R"({"a": [1,2]})"};
  expect_schema(R"({"type": "object", "properties": {"a": {"items": {"type": "integer"},
                    "type": "array"}}, "required": ["a"]})",
                yes, no);
  expect_schema("{}", yes, no);
  expect_reads(compiled(grammar::from_any_json(/*only_objects=*/true)), yes, no);
}

TEST(GrammarSchema, OtherNames) {
  expect_schema(
      R"({"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "string"}, "type": "object"})",
      {R"({"a":1,"b":"x","ab":"y"})", R"({"b":"x"})"},
      {R"({"b":1})", R"({"a":"x"})", R"({"b":"x","a":1})"});
  expect_schema(
      R"({"patternProperties": {"^n": {"type": "integer"}, "s$": {"minimum": 5}}, "additionalProperties": false,
                   "type": "object"})",
      {R"({"n":1,"ns":7})", R"({"s":"x"})", "{}"}, {R"({"ns":1})", R"({"n":"x"})", R"({"x":1})"});
  expect_schema(R"({"type": "object", "propertyNames": {"pattern": "^[a-c]+$"}})",
                {R"({"a":1,"cb":2})"}, {R"({"d":1})"});
  expect_schema(R"({"type": "object", "required": ["z"]})", {R"({"z":1,"a":2})"}, {R"({"a":2})"});
  expect_schema(
      R"({"type": "object", "additionalProperties": {}, "minProperties": 1, "maxProperties": 2})",
      {R"({"a":1})", R"({"a":1,"b":2})"}, {"{}", R"({"a":1,"b":2,"c":3})"});
}

TEST(GrammarSchema, Numbers) {
  expect_schema(R"({"type": "integer", "minimum": -3, "exclusiveMaximum": 12})",
                {"-3", "0", "-0", "9", "11"}, {"-4", "12", "1.5", "01", "100", "1e1"});
  expect_schema(R"({"type": "number", "minimum": 0.5, "maximum": 2})",
                {"0.5", "0.51", "1", "2", "2.0", "1.999"}, {"0.49", "2.01", "-1", "20", "0"});
  expect_schema(R"({"type": "integer", "multipleOf": 3})", {"0", "-3", "12"}, {"1", "13"});
  expect_schema(R"({"type": "integer", "minimum": 123456789012345678901234567890})",
                {"123456789012345678901234567890"}, {"123456789012345678901234567889"});
}

TEST(GrammarSchema, Strings) {
  expect_schema(R"({"type": "string", "minLength": 2, "maxLength": 3})",
                {R"("ab")", R"("é\n\"")", "\"\xF0\x9D\x84\x9E\x61\""},
                {R"("a")", R"("abcd")", R"("")"});
  expect_schema(R"({"type": "string", "pattern": "b\\d", "maxLength": 4})",
                {R"("ab1")", R"("b2xy")"}, {R"("b")", R"("aab1x")"});
  expect_schema(R"({"type": "string", "format": "date"})", {R"("2024-02-29")", R"("2023-12-31")"},
                {R"("2023-02-29")", R"("2023-13-01")", R"("2023-04-31")"});
  expect_schema(R"({"type": "string", "minLength": 600, "maxLength": 1400})",
                {'"' + std::string(600, 'a') + '"', '"' + std::string(1000, 'a') + '"',
                 '"' + std::string(1400, 'a') + '"'},
                {'"' + std::string(599, 'a') + '"', '"' + std::string(1401, 'a') + '"'});
}

// Some texts cannot end at a bound. No character may be allowed that leads only there.
TEST(GrammarSchema, LengthsBesidePatterns) {
  expect_schema(R"({"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 5})",
                {R"("abab")"}, {R"("")", R"("ab")", R"("aba")", R"("ababa")", R"("ababab")"});
  expect_schema(R"({"type": "string", "pattern": "^(aaa|aaaaa)$", "minLength": 4})", {R"("aaaaa")"},
                {R"("aaa")", R"("aaaa")"});
  expect_schema(R"({"type": "string", "pattern": "^[\"é]*$", "minLength": 2, "maxLength": 3})",
                {R"("éé")", R"("\"é\"")"}, {R"("é")", R"("éééé")", R"("\"")"});
  expect_schema(
      R"({"type": "object", "propertyNames": {"pattern": "^a*b?$", "minLength": 2, "maxLength": 3},
          "required": ["aa"]})",
      {R"({"aa":1})", R"({"aa":1,"aab":2})"}, {R"({"aa":1,"a":2})", R"({"aa":1,"aaab":2})", "{}"});
  expect_schema(R"({"enum": ["a@b.c", "aaaa@b.c"], "format": "email", "maxLength": 6})",
                {R"("a@b.c")"}, {R"("aaaa@b.c")"});
  expect_schema(R"({"oneOf": [{"format": "email", "maxLength": 9}, {"minLength": 10}],
                    "type": "string"})",
                {R"("a@b.c")", R"("aaaaaaaaaa")"}, {R"("aaaaaaaaa")"});
  expect_grammar_refused(
      from_json_schema(
          R"({"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 3})"),
      ErrorCode::kInvalidArgument,
      "'#/pattern' is \"^(ab)*$\", but '#/minLength' is 3 and '#/maxLength' is 3");
  expect_grammar_refused(from_json_schema(R"({"type": "string", "format": "hostname",
                                              "minLength": 254})"),
                         ErrorCode::kInvalidArgument,
                         "'#/format' is \"hostname\", but '#/minLength' is 254");
}

TEST(GrammarSchema, Arrays) {
  expect_schema(
      R"({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 1})",
      {"[1]", R"([1,"a"])"}, {"[]", R"([1,"a",2])", R"(["a"])"});
  expect_schema(R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
                {"[1,2]", "[1,2,3]"}, {"[1]", "[1,2,3,4]", "[1,2,]"});
  expect_schema(
      R"({"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [{"type": "null"}],
                   "additionalItems": {"type": "integer"}})",
      {"[]", "[null]", "[null,1,2]"}, {"[1]", R"([null,"a"])"});
}

TEST(GrammarSchema, SomeItems) {
  expect_schema(R"({"type": "array", "contains": {"type": "integer", "minimum": 5}})",
                {"[5]", R"(["a",7,null])", "[1,2,6]", "[9,9]"}, {"[]", "[4]", R"(["a"])"});
  expect_schema(
      R"({"type": "array", "items": {"type": "integer"}, "contains": {"const": 2}, "minContains": 2, "maxItems": 3})",
      {"[2,2]", "[1,2,2]", "[2,2,2]"}, {"[2]", "[1,2,1]", "[2,1,2,1]", R"([2,2,"a"])"});
  expect_schema(
      R"({"type": "array", "prefixItems": [{"type": "string"}], "contains": {"type": "null"}})",
      {R"(["a",null])", R"(["a",1,null])"}, {"[null]", R"(["a"])"});
  expect_schema(R"({"type": "array", "contains": {}, "minContains": 0})", {"[]", "[1]"}, {"1"});
  expect_schema(
      R"({"allOf": [{"contains": {"const": 1}}, {"contains": {"const": 2}}], "type": "array"})",
      {"[1,2]", "[2,3,1]"}, {"[1,1]", "[2]"});
  expect_schema(R"({"type": "array", "not": {"contains": {"type": "string"}}})", {"[]", "[1,null]"},
                {R"([1,"a"])"});
  expect_schema(R"({"type": "array", "not": {"items": {"type": "string"}}})", {R"(["a",1])", "[1]"},
                {"[]", R"(["a"])"});
  expect_schema(R"({"enum": [[1, 2], [2, 3]], "contains": {"const": 1}})", {"[1,2]"}, {"[2,3]"});
}

TEST(GrammarSchema, NoMultiples) {
  expect_schema(R"({"type": "integer", "not": {"multipleOf": 3}})", {"1", "-2", "100"},
                {"0", "3", "-9"});
  expect_schema(R"({"not": {"multipleOf": 0.5}, "type": "number"})", {"0.25", "1.75"},
                {"0.5", "2", "1e3"});
  expect_schema(R"({"oneOf": [{"multipleOf": 3}, {"multipleOf": 5}], "type": "integer"})",
                {"3", "5", "-9"}, {"15", "0", "1"});
}

// A format of numbers says nothing of strings.
TEST(GrammarSchema, FormatsOfNumbers) {
  expect_schema(R"({"type": ["string", "integer"], "format": "int32"})", {"1", "\"a\""},
                {"2147483648"});
  expect_schema(R"({"enum": ["a", 1, 2147483648], "format": "int32"})", {"1", "\"a\""},
                {"2147483648"});
}

TEST(GrammarSchema, ReferencesAndRecursion) {
  expect_schema(
      R"({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object", "properties": {"v": {"type": "integer"},
                   "c": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}, "required": ["v"], "additionalProperties": false}}})",
      {R"({"v":1})", R"({"v":1,"c":[{"v":2,"c":[]},{"v":3}]})"},
      {R"({"c":[]})", R"({"v":1,"c":[1]})"});
  expect_schema(
      R"({"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"type": "integer"}}})",
      {"1"}, {"\"1\""});
  expect_grammar_refused(from_json_schema(R"({"anyOf": [{"$ref": "#"}, {"type": "string"}]})"),
                         ErrorCode::kUnsupported, "leads back");
  expect_grammar_refused(from_json_schema(R"({"$ref": "#/nowhere"})"), ErrorCode::kInvalidArgument,
                         "#/nowhere");
  expect_grammar_refused(from_json_schema(R"({"$ref": "other.json"})"), ErrorCode::kUnsupported,
                         "other.json");
}

// JSON pointers in the fragment of a URI (RFC 6901).
TEST(GrammarSchema, Pointers) {
  const auto schema = [](const std::string& reference) {
    return R"({"$ref": ")" + reference +
           R"(", "x": [{"const": 0}, {"const": 1}], "y": {"01": {"const": 2},
               "a/b": {"const": 3}, "a~b": {"const": 4}, "~1": {"const": 5}, "a%b": {"const": 6},
               "": {"const": 7}, "-": {"const": 8}, "é": {"const": 9}, "properties": {"const": 10}},
               "$defs": {"properties": {"const": 11}}})";
  };
  for (const auto& [reference, value] :
       std::vector<std::pair<std::string, std::string>>{{"#/x/0", "0"},
                                                        {"#/x/1", "1"},
                                                        {"#/y/01", "2"},
                                                        {"#/y/a~1b", "3"},
                                                        {"#/y/a~0b", "4"},
                                                        {"#/y/a%7E0b", "4"},
                                                        {"#/y/~01", "5"},
                                                        {"#/y/a%25b", "6"},
                                                        {"#/y/", "7"},
                                                        {"#/y/-", "8"},
                                                        {"#/y/%c3%A9", "9"},
                                                        {"#/y/é", "9"},
                                                        {"#/y/properties", "10"},
                                                        {"#/$defs/properties", "11"}})
    expect_schema(schema(reference), {value}, {"12"});
  for (const char* nowhere :
       {"#/x/01", "#/x/00", "#/x/-", "#/x/2", "#/x/+1", "#/x/-1", "#/x/1e0", "#/x/",
        "#/x/99999999999999999999", "#/y/a/b", "#/y/0", "#/x/0/const/0"})
    expect_grammar_refused(from_json_schema(schema(nowhere)), ErrorCode::kInvalidArgument,
                           "is not in the document");
  for (const char* malformed : {"#/y/a~b", "#/y/~", "#/y/a~2b", "#/y/a%b", "#/y/%+1", "#/y/%4"})
    expect_grammar_refused(from_json_schema(schema(malformed)), ErrorCode::kInvalidArgument,
                           "is not a JSON pointer");
  expect_grammar_refused(from_json_schema(schema("#/$defs")), ErrorCode::kInvalidArgument,
                         "leads to an object of schemas, expected one schema");
  for (const char* no_schema : {"#/x", "#/x/0/const"})
    expect_grammar_refused(from_json_schema(schema(no_schema)), ErrorCode::kInvalidArgument,
                           "expected a schema");
}

TEST(GrammarSchema, Combinations) {
  expect_schema(R"({"enum": ["a", 1, null, {"b": [true]}]})",
                {"\"a\"", "1", "null", R"({"b":[true]})"}, {"\"b\"", "2"});
  expect_schema(R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"});
  expect_schema(R"({"allOf": [{"type": "integer", "minimum": 3}, {"maximum": 5}]})", {"3", "5"},
                {"2", "6", "\"a\""});
  expect_schema(
      R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}], "minimum": 2})",
      {"2", "\"a\""}, {"1", "\"ab\""});
  expect_schema(R"({"not": {"enum": ["a", 1]}, "type": ["string", "integer"]})",
                {"\"b\"", "2", "11"}, {"\"a\"", "1"});
  expect_schema(
      R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false,
                   "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
      {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"});
  expect_schema(
      R"({"type": "object", "properties": {"k": {"type": "string"}, "n": {}}, "additionalProperties": false,
                   "if": {"properties": {"k": {"const": "x"}}, "required": ["k"]}, "then": {"required": ["n"]}})",
      {R"({"k":"x","n":1})", R"({"k":"y"})", "{}"}, {R"({"k":"x"})"});
  expect_schema(
      R"({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false, "dependentRequired": {"a": ["b"]}})",
      {"{}", R"({"b":1})", R"({"a":1,"b":1})"}, {R"({"a":1})"});
}

TEST(GrammarSchema, OneOfByWhatExcludes) {
  expect_schema(
      R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind"], "additionalProperties": false},
                              {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"], "additionalProperties": false}]})",
      {R"({"kind":"a","n":1})", R"({"kind":"b"})"}, {R"({"kind":"b","n":1})"});
  expect_schema(
      R"({"oneOf": [{"type": "integer", "minimum": 5}, {"type": "integer", "multipleOf": 2, "maximum": 4}]})",
      {"5", "6", "2"}, {"1"});
  expect_schema(R"({"oneOf": [{"minimum": 2}, {"maximum": 3}], "type": "integer"})", {"1", "4"},
                {"2", "3"});
  expect_schema(
      R"({"oneOf": [{"items": {"type": "integer"}}, {"items": {"minimum": 2}}], "type": "array"})",
      {"[1]", "[2.5]", R"(["a"])"}, {"[]", "[3]", "[1.5]"});
  expect_grammar_refused(
      from_json_schema(R"({"oneOf": [{"format": "email"}, {"pattern": "a"}], "type": "string"})"),
      ErrorCode::kUnsupported, "'oneOf'");
}

TEST(GrammarSchema, RefusesByName) {
  for (const auto& [schema, name] : std::vector<std::pair<std::string, std::string>>{
           {R"({"properties": {"a": {"type": "array", "uniqueItems": true}}})", "'uniqueItems'"},
           {R"({"unevaluatedProperties": false})", "'unevaluatedProperties'"},
           {R"({"contains": {}, "maxContains": 2})", "'maxContains'"},
           {R"({"$schema": "http://json-schema.org/draft-04/schema#", "contains": {}})",
            "'contains'"},
           {R"~({"type": "string", "pattern": "(?!a)"})~", "lookahead"},
           {R"({"type": "object", "minProperties": 3})", "'minProperties'"},
           {R"({"$schema": "https://example.com/my-schema"})", "'$schema'"},
           {R"({"$dynamicRef": "#a"})", "'$dynamicRef'"},
           {R"({"multipleOf": 0.123456789})", "'multipleOf'"},
           {R"({"type": "string", "maxLength": 2147483647})",
            "a 'minLength' or 'maxLength' above 2097152 is not supported"},
           {R"({"type": "string", "maxLength": 1e30})", "'maxLength' above 2097152"},
           {R"({"type": "string", "minLength": 1000000000000000000000000000000})",
            "'maxLength' above 2097152"},
           {R"({"type": "string", "format": "uri", "maxLength": 1e16})",
            "'maxLength' above 2097152"},
           {R"({"type": "string", "not": {"maxLength": 1e30}})", "'maxLength' above 2097152"},
           {R"({"type": "object", "propertyNames": {"maxLength": 1e30}})",
            "'maxLength' above 2097152"},
           {R"({"type": "array", "maxItems": 100000})", "'maxItems' above 20000"},
           {R"({"type": "array", "minItems": 1e30})", "'maxItems' above 20000"},
           {R"({"contains": {}, "minContains": 1e30})", "'minContains' above 1000"},
           {R"({"type": "object", "properties": {"a": {}}, "maxProperties": 1e30})",
            "a 'minProperties' or 'maxProperties' above 19999 beside 1 listed properties"}})
    expect_grammar_refused(from_json_schema(schema), ErrorCode::kUnsupported, name);
  for (const auto& [schema, name] : std::vector<std::pair<std::string, std::string>>{
           {R"({"type": "strin"})",
            "'type' names 'strin', expected null, boolean, integer, number, "
            "string, array or object (hint: 'string'?)"},
           {R"({"type": "float"})", "array or object"},
           {R"({"type": ["String", "null"]})", "array or object (hint: 'string'?)"},
           {R"({"minLength": -1})", "'minLength' is -1, expected a whole number from 0"},
           {R"({"minLength": -1000000000000000000000000000000})", "expected a whole number from 0"},
           {R"({"maxItems": 2.5})", "'maxItems' is 2.5, expected a whole number from 0"},
           {R"({"maxProperties": "3"})", "expected a whole number from 0"},
           {R"({"multipleOf": -2})", "'multipleOf' is -2, expected a number above 0"},
           {R"({"type": "string", "minLength": 1e30, "maxLength": 3})",
            "'#/minLength' is 1e+30, but '#/maxLength' is 3"},
           {R"({"type": "object", "properties": {"a": {}}, "additionalProperties": false,
                "minProperties": 1e30})",
            "no text fits"},
           {R"({"required": true})", "'required'"},
           {R"({"properties": {"a": 5}})", "'#/properties/a': found 5, expected a schema"},
           {R"({"anyOf": []})", "'anyOf'"},
           {R"({"type": "integer", "minimum": 5, "maximum": 4})",
            "'#/minimum' is 5, but '#/maximum' is 4"},
           {"[1]", "array"},
           {"{", "not JSON"}})
    expect_grammar_refused(from_json_schema(schema), ErrorCode::kInvalidArgument, name);
}

TEST(GrammarSchema, SchemasInsideOtherFormsAreRefusedWithTheirPlace) {
  for (const auto& [text, place] : std::vector<std::pair<std::string, std::string>>{
           {R"({"name": "shop", "strict": true, "schema": {"type": "object"}})", "'schema'"},
           {R"({"type": "json_schema", "json_schema": {"name": "s", "schema": {"enum": [1]}}})",
            "'json_schema.schema'"},
           {R"({"json_schema": {"type": "object"}})", "'json_schema'"},
           {R"({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}})",
            "'response_format.json_schema.schema'"},
           {R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})",
            "'function.parameters'"},
           {R"({"name": "f", "parameters": {"type": "object"}})", "'parameters'"}})
    expect_grammar_refused(from_json_schema(text), ErrorCode::kInvalidArgument,
                           "its field " + place + " holds one, expected only the schema");
  // With a keyword beside it "schema" is a name as any other.
  expect_schema(R"({"type": "integer", "schema": {"type": "object"}})", {"1"}, {"{}"});
}

using Told = std::vector<std::string>;

Told warnings_of(const std::string& schema) {
  Told warnings = {"not set"};
  compiled(from_json_schema(schema, &warnings));
  return warnings;
}

TEST(GrammarSchema, SchemasWithoutAKeywordAreWarnedOf) {
  for (const char* any : {"true", "{}", R"({"title": "a", "foo": {"type": "integer"}})"}) {
    expect_schema(any, {"1", "{}"}, {});
    EXPECT_EQ(warnings_of(any),
              Told{"the schema has no keyword that constrains the answer: any JSON fits it"});
  }
  // Parts may have none.
  EXPECT_EQ(warnings_of(R"({"properties": {"a": {}, "b": {"description": "any"}}})"), Told());
}

TEST(GrammarSchema, NamesThatAreNearlyKeywordsAreWarnedOf) {
  const auto told = [](std::string_view name, std::string_view keyword) {
    return fmt::format("'{}' is not a JSON Schema keyword and has no effect (hint: '{}'?)", name,
                       keyword);
  };
  const std::string schema = R"({"type": "object", "propertys": {"a": {"type": "null"}}})";
  expect_schema(schema, {R"({"a":1})"}, {"1"});
  EXPECT_EQ(warnings_of(schema), Told{told("#/propertys", "properties")});
  EXPECT_EQ(warnings_of(R"({"anyOf": [{"items": {"Enum": [1]}}]})"),
            Told{told("#/anyOf/0/items/Enum", "enum")});
  // Each name once.
  EXPECT_EQ(warnings_of(R"({"properties": {"a/b": {"Type": 1}, "c": {"Type": 1}}, "requird": []})"),
            (Told{told("#/requird", "required"), told("#/properties/a~1b/Type", "type")}));
  // Names of properties and definitions, values, and other names.
  for (const char* none :
       {R"({"properties": {"maxlength": {"type": "string"}}})",
        R"({"$ref": "#/$defs/item", "$defs": {"item": {"type": "string"}, "propertys": {}}})",
        R"({"enum": [{"Enum": 1}], "x-order": 1, "id": "a", "default": {"Type": 1}})",
        R"({"type": "object", "strict": true, "discriminator": {"propertyName": "a"}})"})
    EXPECT_EQ(warnings_of(none), Told()) << none;
  // The first eight.
  std::string many = R"({"type": "object")";
  for (const char* name : {"Properties", "Required", "Items", "Enum", "Const", "Pattern", "Format",
                           "Minimum", "Maximum"})
    many += std::string(R"(, ")") + name + R"(": 1)";
  EXPECT_EQ(warnings_of(many + "}").size(), 8u);
}

TEST(GrammarSchema, UnknownFormatsAreAnnotations) {
  const auto told = [](const std::string& place, const std::string& format) {
    return Told{"'" + place + "' is \"" + format + "\", a format that is not enforced"};
  };
  for (const std::string format : {"path", "binary", "password", "byte", "regex"}) {
    const std::string schema = R"({"type": "object", "properties": {"a": {"type": "string",
                                   "format": ")" +
                               format + R"(", "maxLength": 3}}, "required": ["a"]})";
    expect_schema(schema, {R"({"a":"x y"})"}, {R"({"a":"x yz"})", R"({"a":1})"});
    EXPECT_EQ(warnings_of(schema), told("#/properties/a/format", format));
  }
  EXPECT_EQ(warnings_of(R"({"type": "string", "format": "datetime"})"),
            Told{told("#/format", "datetime")[0] + " (hint: 'date-time'?)"});
  // At any place of a schema.
  EXPECT_EQ(warnings_of(R"({"type": "object", "propertyNames": {"format": "path"}})"),
            told("#/propertyNames/format", "path"));
  EXPECT_EQ(warnings_of(R"({"enum": ["a"], "format": "path"})"), told("#/format", "path"));
  EXPECT_EQ(
      warnings_of(R"({"type": ["string", "null"], "not": {"type": "null", "format": "path"}})"),
      told("#/not/format", "path"));
}

// An optional part that no value fits is in no text.
TEST(GrammarSchema, PartsThatNoValueFits) {
  const std::string age =
      R"({"type": "object", "properties": {"name": {"type": "string"},
          "age": {"type": "integer", "minimum": 10, "maximum": 5}}})";
  EXPECT_EQ(warnings_of(age), Told());
  expect_schema(age, {"{}", R"({"name":"a"})"}, {R"({"age":7})"});
  expect_schema(R"({"type": "object", "properties": {"Age": {"type": "integer"}},
                    "propertyNames": {"pattern": "^[a-z]+$"}})",
                {"{}", R"({"b":1})"}, {R"({"Age":1})"});
  expect_schema(R"({"type": "array", "items": {"type": "string", "minLength": 2, "maxLength": 1}})",
                {"[]"}, {R"(["a"])"});
  expect_schema(R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})", {"1.5"}, {"1"});
}

// A keyword says nothing of values of another type.
TEST(GrammarSchema, KeywordsOfAnotherType) {
  expect_schema(R"({"properties": {"a": {"type": "string"}}, "required": ["a"]})",
                {"5", "[]", R"({"a":""})"}, {"{}"});
  expect_schema(R"({"type": "integer", "maxLength": 3})", {"12345"}, {R"("a")"});
}

// A part that a proof passed over is still refused when it is compiled.
TEST(GrammarSchema, WhatAProofMeetsIsStillRefused) {
  const auto schema = [](const std::string& inside) {
    return R"({"oneOf": [{"type": "object", "required": ["a", "k"], "properties": {"a": )" +
           inside +
           R"(, "k": {"const": 1}}}, {"type": "object", "required": ["a", "k"], "properties": {"a": {"type": "array"},
           "k": {"const": 2}}}]})";
  };
  expect_schema(schema(R"({"type": "array"})"), {R"({"a":[],"k":1})", R"({"a":[1],"k":2})"},
                {R"({"a":[],"k":3})"});
  for (const std::string keyword : {"unevaluatedItems", "maxContains"})
    expect_grammar_refused(
        from_json_schema(schema(R"({"type": "array", ")" + keyword + R"(": false})")),
        ErrorCode::kUnsupported, "'" + keyword + "'");
  expect_grammar_refused(from_json_schema(schema(R"({"type": "array", "minItems": "many"})")),
                         ErrorCode::kInvalidArgument, "'minItems'");
  // Cases that a refusal cut short prove nothing.
  expect_grammar_refused(
      from_json_schema(schema(R"({"anyOf": [false, {"unevaluatedItems": false}]})")),
      ErrorCode::kUnsupported, "'unevaluatedItems'");
}

TEST(GrammarSchema, PlacesAreNamed) {
  expect_grammar_refused(
      from_json_schema(R"({"properties": {"a": {"items": {"maxContains": 1}}}})"),
      ErrorCode::kUnsupported, "'#/properties/a/items'");
}

TEST(GrammarSchema, HostileSchemasAreRefused) {
  std::string cases = R"({"allOf": [)";
  for (int i = 0; i < 20; ++i)
    cases += (i > 0 ? "," : "") + std::string(R"({"anyOf": [{"minimum": )") + std::to_string(i) +
             R"(}, {"maxLength": )" + std::to_string(i) + "}]}";
  expect_grammar_refused(from_json_schema(cases + "]}"), ErrorCode::kUnsupported,
                         "2000 combinations");
  expect_grammar_refused(
      from_json_schema(R"({"enum": [")" + std::string(10'000'000, 'a') + R"("]})"),
      ErrorCode::kUnsupported, "bytes");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"items":)";
  expect_grammar_refused(from_json_schema(deep + "{}" + std::string(1000, '}')),
                         ErrorCode::kInvalidArgument, "64 levels");
  std::string names = R"({"type": "object", "properties": {"a": {})";
  for (int i = 0; i < 60'000; ++i) names += ",\"property" + std::to_string(i) + "\":{}";
  expect_grammar_refused(from_json_schema(names + "}}"), ErrorCode::kUnsupported, "too complex");
  expect_grammar_refused(from_json_schema(R"~({"type": "string", "pattern": "(a|b)*a(a|b){20}"})~"),
                         ErrorCode::kUnsupported, "states");
}

}  // namespace
}  // namespace pando::testing
