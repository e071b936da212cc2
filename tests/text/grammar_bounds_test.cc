// Forms that ask for much work: they are served in few steps, or refused by the name of a limit.
#include <fmt/format.h>

#include "grammar_testing.h"
#include "text/grammar/form_cache.h"
#include "text/grammar/limits.h"
#include "text/grammar/schema_compiler.h"
#include "text/utf8.h"

namespace pando::testing {
namespace {

using grammar::from_json_schema;
using grammar::from_regex;

std::string repeated(std::string_view text, int n, std::string_view between = "") {
  std::string all;
  for (int i = 0; i < n; ++i) {
    if (i > 0) all += between;
    all += text;
  }
  return all;
}

// Texts that `write` makes of 0 to n - 1, with commas between.
template <class Write>
std::string listed(int n, const Write& write) {
  std::string all;
  for (int i = 0; i < n; ++i) {
    if (i > 0) all += ',';
    all += write(std::to_string(i));
  }
  return all;
}

struct Compiled {
  Result<grammar::GrammarPtr> grammar;
  size_t n_steps;
};

Compiled compiled_counted(const std::string& schema) {
  auto document = grammar::SchemaDocument::parse(schema);
  if (!document) return {document.error(), 0};
  grammar::Builder builder;
  auto grammar = grammar::SchemaCompiler(document->get(), &builder).compile();
  return {std::move(grammar), grammar::kMostSchemaWork - (*document)->work_left()};
}

void expect_served(const std::string& schema, size_t most_steps,
                   const std::vector<std::string>& yes, const std::vector<std::string>& no) {
  SCOPED_TRACE(schema.substr(0, 80));
  auto [grammar, n_steps] = compiled_counted(schema);
  EXPECT_LE(n_steps, most_steps);
  expect_reads(compiled(std::move(grammar)), yes, no);
}

void expect_too_much(const std::string& schema, const std::string& names) {
  SCOPED_TRACE(schema.substr(0, 80));
  expect_grammar_refused(from_json_schema(schema), ErrorCode::kUnsupported, names);
}

TEST(GrammarBounds, CategoriesOfCharacters) {
  expect_reads(compiled(from_regex("\\p{L}+" + repeated("\\p{Nd}?", 300))), {"aé", "a12"}, {"1a"});
  for (const std::string& pattern :
       {repeated("\\p{L}", 400'000), "[" + repeated("\\p{L}", 400'000) + "]",
        "[^" + repeated("\\P{Lu}\\W", 100'000) + "]"})
    expect_grammar_refused(from_regex(pattern), ErrorCode::kUnsupported, "ranges of characters");
}

TEST(GrammarBounds, ManyDifferentSetsOfCharacters) {
  // Ranges that all overlap.
  std::string pattern;
  for (int i = 0; i < 20'000; ++i)
    pattern += "[\\u{" + fmt::format("{:x}", 0x1000 + i) + "}-\\u{" +
               fmt::format("{:x}", 0x8000 + i) + "}]";
  expect_grammar_refused(from_regex(pattern), ErrorCode::kUnsupported, "too complex");
  // Characters that are all different.
  std::string characters;
  for (char32_t c = 0x4E00; c < 0x4E00 + 20'000; ++c) append_utf8(c, &characters);
  expect_grammar_refused(from_regex(characters), ErrorCode::kUnsupported, "too complex");
}

TEST(GrammarBounds, NestedRepetitions) {
  std::string pattern = "a";
  for (int i = 0; i < 150; ++i) pattern = "(" + pattern + "){1}{1}{1}{1}{1}{1}{1}";
  expect_reads(compiled(from_regex(pattern)), {"a"}, {"", "aa"});
  pattern = "a" + repeated("{1}", 20);
  expect_grammar_refused(from_regex(pattern), ErrorCode::kUnsupported, "many repetitions");
}

// Two lists are compared by hashing, not each with each.
TEST(GrammarBounds, AllOfLargeEnums) {
  const auto number = [](const std::string& i) { return i + ".0"; };
  const auto other = [](const std::string& i) { return std::to_string(10 * std::stoi(i) + 5); };
  const std::string first = "[" + listed(30'000, number) + "]",
                    second = "[" + listed(30'000, other) + "]";
  const std::string schema = R"({"allOf": [{"enum": )" + first + R"(}, {"enum": )" + second + "}]}";
  expect_served(schema, 200'000, {"5", "25", "29995"}, {"6", "299995", "4"});
  const std::string nots = R"({"enum": )" + first + R"(, "not": {"enum": )" + second + "}}";
  expect_served(nots, 200'000, {"6", "29994"}, {"5", "29995"});
  // In each of many cases.
  expect_too_much(
      R"({"allOf": [{"enum": )" + first + R"(}, {"enum": )" + second + R"(}], "anyOf": [)" +
          listed(500, [](const std::string& i) { return R"({"minimum": )" + i + "}"; }) + "]}",
      "too complex");
}

// The automaton of a condition is made once, not for each value.
TEST(GrammarBounds, LargeEnumsWithPatterns) {
  const std::string values =
      listed(20'000, [](const std::string& i) { return "\"a" + i + "@b.c\""; });
  expect_served(R"({"enum": [)" + values + R"(], "format": "email", "pattern": "9@"})", 300'000,
                {R"("a9@b.c")", R"("a19999@b.c")"}, {R"("a8@b.c")"});
  const std::string objects =
      listed(2'000, [](const std::string& i) { return R"({"mail": "a)" + i + R"(@b.c"})"; });
  expect_served(R"({"enum": [)" + objects +
                    R"(], "properties": {"mail": {"format": "email", "pattern": "9@"}}})",
                100'000, {R"({"mail":"a9@b.c"})"}, {R"({"mail":"a8@b.c"})"});
}

TEST(GrammarBounds, ManyRequiredNames) {
  const auto name = [](const std::string& i) { return "\"p" + i + "\""; };
  const std::string text =
      "{" + listed(3'000, [](const std::string& i) { return "\"p" + i + "\":1"; }) + "}";
  const std::string schema =
      R"({"type": "object", "required": [)" + listed(3'000, name) + R"(], "properties": {)" +
      listed(3'000, [](const std::string& i) { return "\"p" + i + "\": {\"const\": 1}"; }) +
      R"(}, "additionalProperties": false})";
  expect_served(schema, 200'000, {text}, {"{}"});
  // One name comes again and again.
  expect_served(
      R"({"type": "object", "properties": {"a": {}}, "additionalProperties": false, "required": [)" +
          repeated("\"a\"", 100'000, ",") + "]}",
      50'000, {R"({"a":1})"}, {"{}"});
  expect_too_much(R"({"type": "object", "required": [)" + listed(100'000, name) + "]}", "too");
}

TEST(GrammarBounds, ManyDependencies) {
  const auto needs = [](const std::string& i) { return "\"p" + i + R"(": ["q)" + i + "\"]"; };
  const auto property = [](const std::string& i) {
    return "\"p" + i + R"(": {}, "q)" + i + "\": {}";
  };
  const auto schema = [&](int n) {
    return R"({"type": "object", "additionalProperties": false, "properties": {)" +
           listed(n, property) + R"(}, "dependentRequired": {)" + listed(n, needs) + "}}";
  };
  expect_served(schema(8), 100'000, {"{}", R"({"q0":1})", R"({"p1":1,"q1":2,"p7":3,"q7":4})"},
                {R"({"p0":1})", R"({"p1":1,"q1":2,"p7":3})"});
  for (const int n : {12, 400, 5'000, 30'000}) expect_too_much(schema(n), "too complex");
}

TEST(GrammarBounds, ManyChoicesAtOnePlace) {
  // Each has one branch, so that there is one case.
  const auto one = [](const std::string& i) { return R"({"anyOf": [{"minimum": )" + i + "}]}"; };
  expect_served(R"({"type": "integer", "allOf": [)" + listed(400, one) + "]}", 100'000,
                {"399", "1000"}, {"398", "0"});
  expect_too_much(R"({"type": "integer", "allOf": [)" + listed(50'000, one) + "]}", "too complex");
}

// Members that say nothing count each time that a schema is read.
TEST(GrammarBounds, ManyAnnotations) {
  const std::string many = listed(50'000, [](const std::string& i) { return "\"x" + i + "\": 0"; });
  const auto cases = [](const char* keyword) {
    return listed(30, [&](const std::string& i) {
      return fmt::format(R"({{"{}": {}, "$ref": "#/$defs/many"}})", keyword, i);
    });
  };
  expect_too_much(R"({"type": "integer", "allOf": [{"anyOf": [)" + cases("minimum") +
                      R"(]}, {"anyOf": [)" + cases("maximum") + R"(]}], "$defs": {"many": {)" +
                      many + "}}}",
                  "steps");
}

TEST(GrammarBounds, CopiesOfConditions) {
  std::string schema = R"({"const": 1})";
  for (int i = 0; i < 25; ++i)
    schema = R"({"if": {"properties": {"a)" + std::to_string(i) + R"(": {"const": ")" +
             std::string(2'000, 'x') + R"("}}}, "then": )" + schema +
             R"(, "else": {"maximum": 5}})";
  const auto [grammar, n_steps] = compiled_counted(schema);
  EXPECT_TRUE(grammar.ok() || grammar.error().code == ErrorCode::kUnsupported)
      << grammar.error().message();
  EXPECT_LE(n_steps, grammar::kMostSchemaWork);
}

TEST(GrammarBounds, NamesByManyPatterns) {
  const auto pattern = [](const std::string& i) { return "\"^p" + i + "$\": {}"; };
  const auto schema = [&](int n) {
    return R"({"type": "object", "additionalProperties": false, "patternProperties": {)" +
           listed(n, pattern) + "}}";
  };
  expect_served(schema(12), 200'000, {"{}", R"({"p3":1,"p11":[]})"}, {R"({"p12":1})"});
  for (const int n : {501, 20'000}) expect_too_much(schema(n), "more than 500");
  const auto overlapping = [](const std::string& i) {
    return "\"a.*" + i + "\": {\"minimum\": " + i + "}";
  };
  expect_too_much(R"({"type": "object", "patternProperties": {)" + listed(40, overlapping) + "}}",
                  "too complex");
}

// A proof that takes too much is given up once, not once for each pair of branches.
TEST(GrammarBounds, ProofsThatTakeTooMuch) {
  const auto branch = [](const std::string& i) {
    return R"({"type": "string", "pattern": "(a|b)*a(a|b){18}c)" + i + "\"}";
  };
  expect_too_much(R"({"oneOf": [)" + listed(100, branch) + "]}", "too complex");
}

// A text of `n` characters, at least 12, in the format.
std::string text_of_format(std::string_view format, size_t n) {
  const auto filled = [&](std::string begin, char with, std::string_view end) {
    begin.append(n - begin.size() - end.size(), with);
    return begin.append(end);
  };
  if (format == "email") return filled("", 'a', "@b.c");
  if (format == "hostname") {
    std::string name = n % 2 == 0 ? "aa" : "a";
    while (name.size() < n) name += ".a";
    return name;
  }
  if (format == "uri") return filled("a:", 'x', "");
  if (format == "uri-reference") return filled("", 'x', "");
  if (format == "json-pointer") return filled("/", 'x', "");
  if (format == "relative-json-pointer") return filled("0/", 'x', "");
  if (format == "duration") return filled("P", '1', "D");
  if (format == "time") return filled("12:00:00.", '1', "Z");
  return filled("2024-02-29T12:00:00.", '1', "Z");  // date-time
}

TEST(GrammarBounds, FormatsOfUsualLengths) {
  for (const char* format : {"email", "hostname", "uri", "uri-reference", "json-pointer",
                             "relative-json-pointer", "duration", "time", "date-time"})
    for (const auto& [least, most] : {std::pair<size_t, size_t>{30, 253},
                                      {32, 63},
                                      {100, 254},
                                      {64, 255},
                                      {33, 2083},
                                      {40, 65'536}}) {
      const std::string bounds =
          fmt::format(R"("type": "string", "format": "{}", "minLength": {}, "maxLength": {})",
                      format, least, most);
      const bool is_hostname = format == std::string_view("hostname");
      const size_t longest = is_hostname ? std::min<size_t>(most, 253) : most;
      const auto text = [&](size_t n) { return '"' + text_of_format(format, n) + '"'; };
      expect_served("{" + bounds + "}", 25'000, {text(least), text(least + 1), text(longest)},
                    {text(least - 1), text(longest + 1)});
    }
}

TEST(GrammarBounds, ManyStringsOfAFormat) {
  const auto property = [](const std::string& i) {
    const int n = std::stoi(i);
    constexpr const char* kFormats[] = {"email", "hostname", "uri", "uri-reference", "ipv6"};
    return fmt::format(R"("p{}": {{"type": "array", "items": {{"type": "string", "format": "{}",
                           "maxLength": {}}}}})",
                       i, kFormats[n % 5], 253 + n / 5 % 4);
  };
  expect_served(R"({"type": "object", "additionalProperties": false, "properties": {)" +
                    listed(200, property) + "}}",
                200'000, {R"({"p0":["a@b.c","d@e.f"],"p1":["a.b"],"p199":["::1"]})"},
                {R"({"p0":["a@b.c","a.b"]})"});
  // With patterns that have counts.
  const auto beside = [](const char* format, const char* pattern) {
    return fmt::format(R"({{"type": "string", "format": "{}", "pattern": "{}"}})", format, pattern);
  };
  const std::string long_name = text_of_format("email", 255);
  expect_served(beside("email", "^.{8,254}$"), 50'000, {R"("abcd@b.c")"},
                {R"("abc@b.c")", '"' + long_name + '"'});
  expect_served(beside("email", "^[^@]{1,64}@[^@]{1,255}$"), 200'000, {R"("a@b.c")"},
                {'"' + long_name + '"'});
  expect_served(beside("hostname", "^[a-z0-9.-]{1,253}$"), 50'000, {R"("a-1.b")"}, {R"("A.b")"});
  expect_served(beside("uri", "^https?://"), 50'000, {R"("https://a.b/c")"}, {R"("ftp://a.b/c")"});
  expect_served(beside("uri", "^.{12,2083}$"), 50'000, {R"("https://a.b/c")"}, {R"("https://a")"});
}

TEST(GrammarBounds, LongBoundsOfLength) {
  const auto property = [](const std::string& i) {
    return "\"p" + i + R"(": {"type": "string", "maxLength": )" +
           std::to_string(300 + std::stoi(i)) + "}";
  };
  expect_served(R"({"type": "object", "additionalProperties": false, "properties": {)" +
                    listed(30, property) + "}}",
                10'000, {R"({"p7":"a"})", R"({"p0":")" + std::string(300, 'b') + "\"}"},
                {R"({"p0":")" + std::string(301, 'b') + "\"}"});
  expect_too_much(R"({"type": "array", "minItems": 1000000000})", "'minItems'");
  const auto array = [](const std::string& i) {
    return "\"p" + i + R"(": {"type": "array", "maxItems": )" +
           std::to_string(20'000 - std::stoi(i)) + "}";
  };
  expect_too_much(R"({"properties": {)" + listed(60, array) + "}}", "too large");
}

TEST(GrammarBounds, DeepReferences) {
  std::string definitions;
  for (int i = 0; i < 20'000; ++i)
    definitions += (i > 0 ? "," : "") +
                   fmt::format(R"("d{}": {{"allOf": [{{"$ref": "#/$defs/d{}"}}]}})", i, i + 1);
  const std::string end = R"(, "d20000": {"type": "integer"})";
  const auto schema = R"({"$ref": "#/$defs/d0", "$defs": {)" + definitions + end + "}}";
  const auto result = from_json_schema(schema);
  EXPECT_TRUE(result.ok() || result.error().message().find("too complex") != std::string::npos);
  // Twice the reference at each level: a known schema is not looked at again.
  definitions.clear();
  for (int i = 0; i < 60; ++i)
    definitions += fmt::format(
        R"("d{}": {{"allOf": [{{"$ref": "#/$defs/d{}"}}, {{"$ref": "#/$defs/d{}"}}]}},)", i, i + 1,
        i + 1);
  expect_served(
      R"({"$ref": "#/$defs/d0", "$defs": {)" + definitions + R"("d60": {"type": "integer"}}})",
      10'000, {"1"}, {"\"a\""});
}

// A schema without a text, whose explanation would take long: it ends, and its work counts.
void expect_explained(const std::string& schema, const std::string& explanation,
                      size_t least_steps) {
  SCOPED_TRACE(schema.substr(0, 80));
  const auto [grammar, n_steps] = compiled_counted(schema);
  ASSERT_FALSE(grammar.ok());
  EXPECT_EQ(grammar.error().message(), "no text fits the schema: " + explanation);
  EXPECT_GE(n_steps, least_steps);
  EXPECT_LT(n_steps, grammar::kMostSchemaWork);
}

TEST(GrammarBounds, ExplanationsOfManyCircles) {
  const auto name = [](const std::string& i) { return "\"x" + i + "\""; };
  const auto property = [](const std::string& i) { return "\"x" + i + R"(": {"$ref": "#"})"; };
  const std::string required = R"("required": [)" + listed(30, name) + "],";
  const std::string properties =
      R"("additionalProperties": false, "properties": {)" + listed(30, property) + "}";
  const auto schema = [&](const std::string& condition, int n_alternatives) {
    return R"({"type": "object", )" + condition + R"(, "anyOf": [)" +
           repeated(R"({"minProperties": 0})", n_alternatives, ",") + R"(], "examples": [)" +
           repeated("0", 300'000, ",") + "]}";
  };
  // Each name of each alternative counts, besides what compiling takes.
  const size_t n_compiling = compiled_counted(schema(properties, 100)).n_steps;
  expect_explained(schema(required + properties, 100), "every text would be endless",
                   n_compiling + 100 * 30);
  // In a copy, which has no place.
  const std::string in_copy = R"("if": true, "then": {)" + required + properties + "}";
  expect_explained(schema(in_copy, 100), "every text would be endless", 100 * 30);
  EXPECT_FALSE(from_json_schema(schema(in_copy, 500)).ok());
}

TEST(GrammarBounds, ExplanationsOfLargeSchemas) {
  const std::string examples = R"(, "examples": [)" + repeated("0", 300'000, ",") + "]}";
  // Each place that is named is searched.
  expect_explained(R"({"type": "integer", "minimum": 3, "maximum": 2)" + examples,
                   "'#/minimum' is 3, but '#/maximum' is 2", 300'000 / 32 * 2);
}

TEST(GrammarBounds, ExplanationsOfReferencesThatDouble) {
  std::string definitions;
  for (int i = 0; i < 60; ++i)
    definitions += fmt::format(
        R"("a{}": {{"allOf": [{{"$ref": "#/$defs/a{}"}}, {{"$ref": "#/$defs/a{}"}}]}},)", i, i + 1,
        i + 1);
  const std::string many = listed(50'000, [](const std::string& i) { return "\"x" + i + "\": 0"; });
  expect_explained(R"({"allOf": [{"$ref": "#/$defs/a0"}, false], "$defs": {)" + definitions +
                       R"("a60": {)" + many + "}}}",
                   "'#/allOf/1' is false", 50'000 / 16 * 2);
}

// A search for each name that passes all others takes a minute.
TEST(GrammarBounds, AValueWithoutOneOfManyRequiredNames) {
  constexpr int kNames = 80'000;
  const std::string value =
      "{" + listed(kNames, [](const std::string& i) { return "\"p" + i + "\":0"; }) + "}";
  const std::string required =
      "[" + listed(kNames, [](const std::string& i) { return "\"p" + i + "\""; }) + ",\"other\"]";
  expect_grammar_refused(
      from_json_schema(R"({"const": )" + value + R"(, "required": )" + required + "}"),
      ErrorCode::kInvalidArgument, "no text fits the schema");
}

TEST(GrammarBounds, WarningsCompareFewNames) {
  const auto n_warnings = [](int n) {
    std::vector<std::string> warnings;
    compiled(
        from_json_schema(R"({"type": "string", )" +
                             listed(n, [](const std::string& i) { return "\"x-" + i + "\": 0"; }) +
                             R"(, "maxlength": 1})",
                         &warnings));
    return warnings.size();
  };
  EXPECT_EQ(n_warnings(63), 1u);
  EXPECT_EQ(n_warnings(64), 0u);
}

TEST(GrammarBounds, RowsOfRepetitionSigns) {
  const std::string most = repeated("?", grammar::kMostRepetitions) + "\n";
  expect_reads(compiled(grammar::from_gbnf("root ::= \"a\"" + most)), {"", "a"}, {"aa"});
  expect_reads(compiled(grammar::from_lark("start: \"a\"" + most)), {"", "a"}, {"aa"});
  const std::string message =
      fmt::format("a row of more than {} repetition signs", grammar::kMostRepetitions);
  expect_grammar_refused(grammar::from_gbnf("root ::= \"a\"?" + most), ErrorCode::kUnsupported,
                         message);
  expect_grammar_refused(grammar::from_lark("start: \"a\"?" + most), ErrorCode::kUnsupported,
                         message);
}

class BytesTokenizer : public Tokenizer {
 public:
  Result<std::vector<Token>> encode(std::string_view text, bool) const override {
    return std::vector<Token>(text.begin(), text.end());
  }
  size_t n_behind() const override { return 0; }
  std::string token_bytes(Token token, bool) const override {
    return std::string(1, static_cast<char>(token));
  }
  int vocab_size() const override { return 256; }
  std::optional<Token> bos() const override { return std::nullopt; }
  std::span<const Token> end_tokens() const override { return {}; }
  bool strips_leading_space() const override { return false; }
};

TEST(GrammarBounds, ARefusedFormIsCompiledOnce) {
  const BytesTokenizer tokenizer;
  grammar::FormCache cache(tokenizer);
  const TextForm refused{.kind = TextForm::Kind::kJsonSchema, .text = R"({"type": "sting"})"};
  EXPECT_EQ(cache.warnings_of(refused), std::vector<std::string>());
  const auto first = cache.get(refused), second = cache.get(refused);
  ASSERT_FALSE(first.ok());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(first.error().message(), second.error().message());
  EXPECT_EQ(cache.n_compiled(), 1u);
  const TextForm good{.kind = TextForm::Kind::kJsonSchema, .text = R"({"type": "string"})"};
  EXPECT_TRUE(cache.get(good).ok());
  EXPECT_FALSE(cache.get(refused).ok());
  EXPECT_EQ(cache.n_compiled(), 2u);
}

TEST(GrammarBounds, KeptFormsAreBoundedInBytes) {
  const BytesTokenizer tokenizer;
  const auto form = [](int i) {
    return TextForm{.kind = TextForm::Kind::kRegex, .text = "[a-f]{100}" + std::to_string(i)};
  };
  const size_t n_bytes = compiled(from_regex(form(100).text))->n_bytes();
  grammar::FormCache cache(tokenizer, 10 * n_bytes);
  const auto held = cache.get(form(0)).value();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(cache.get(form(i)).ok());
  EXPECT_LE(cache.n_kept(), 10u);
  EXPECT_GE(cache.n_kept(), 5u);
  EXPECT_EQ(cache.get(form(0)).value(), held) << "what somebody holds is found";
}

}  // namespace
}  // namespace pando::testing
