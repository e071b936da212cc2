// Regular expressions and lists of texts as grammars.
#include "grammar_testing.h"
#include "text/grammar/char_dfa.h"

namespace pando::testing {
namespace {

using grammar::CharDfa;
using grammar::from_choices;
using grammar::from_regex;

void expect_pattern(const std::string& pattern, const std::vector<std::string>& yes,
                    const std::vector<std::string>& no) {
  SCOPED_TRACE(pattern);
  expect_reads(compiled(from_regex(pattern)), yes, no);
}

TEST(GrammarRegex, MatchesFromStartToEnd) {
  expect_pattern("a|bc", {"a", "bc"}, {"", "b", "abc", "ac"});
  expect_pattern("(ab)*c?", {"", "c", "abab", "ababc"}, {"aba", "cc"});
  expect_pattern("a{2,3}b{2}c{1,}", {"aabbc", "aaabbccc"}, {"abbc", "aabc", "aabb"});
  expect_pattern("[a-c-]+", {"a-b", "-"}, {"d", ""});
  expect_pattern("[^a-c]", {"d", "é", "\n", "\xF0\x9D\x84\x9E"}, {"a", "", "de"});
  expect_pattern("\\d\\w\\s", {"1_ ", "0a\t"}, {"a1 ", "1a"});
  expect_pattern("x{y", {"x{y"}, {"xy"});
  expect_pattern("\\u00e9\\x41\\u{1d11e}", {"éA\xF0\x9D\x84\x9E"}, {"eA"});
  expect_pattern("(?:a|(?<name>b))+?", {"a", "ab"}, {""});
  expect_pattern("\\p{Lu}\\p{Ll}+", {"Éa", "Abc"}, {"aB", "AB"});
}

TEST(GrammarRegex, DotIsNoLineEnd) { expect_pattern(".", {"a", "é"}, {"\n", "\r", ""}); }

TEST(GrammarRegex, EndsOfTheText) {
  expect_pattern("^a$|^b", {"a", "b"}, {"ab"});
  expect_pattern("a^b|c", {"c"}, {"ab"});
  expect_pattern("(^|x)a($|y)", {"a", "xa", "ay", "xay"}, {"x", "y"});
}

TEST(GrammarRegex, SearchFindsAMatchAnywhere) {
  const auto dfa = CharDfa::of(*grammar::parse_regex("^dev|beta|rc$"), true);
  ASSERT_TRUE(dfa.ok());
  for (const char* text : {"dev", "devil", "a beta b", "src"})
    EXPECT_TRUE(dfa->matches(text)) << text;
  for (const char* text : {"a dev", "rcs", ""}) EXPECT_FALSE(dfa->matches(text)) << text;
  const CharDfa others = dfa->complement();
  EXPECT_TRUE(others.matches("a dev"));
  EXPECT_FALSE(others.matches("devil"));
}

TEST(GrammarRegex, RefusesByName) {
  for (const auto& [pattern, name] :
       std::vector<std::pair<std::string, std::string>>{{"(?=a)b", "lookahead"},
                                                        {"(a)\\1", "backreference"},
                                                        {"a\\b", "word boundary"},
                                                        {"a*+", "possessive"},
                                                        {"a{,3}", "'{,'"},
                                                        {"\\p{Script=Greek}", "Script=Greek"},
                                                        {"(?i)a", "a group"},
                                                        {"\\Z", "escaped letter"}})
    expect_grammar_refused(from_regex(pattern), ErrorCode::kUnsupported, name);
  for (const auto& [pattern, name] :
       std::vector<std::pair<std::string, std::string>>{{"(a", "a '(' without"},
                                                        {"a)", "a ')' without"},
                                                        {"[a", "a '[' without"},
                                                        {"*a", "nothing before it"},
                                                        {"a{3,2}", "minimum is above"},
                                                        {"[b-a]", "end is before"},
                                                        {"a\\", "'\\' at its end"}})
    expect_grammar_refused(from_regex(pattern), ErrorCode::kInvalidArgument, name);
}

TEST(GrammarRegex, LimitsEndInARefusal) {
  expect_grammar_refused(from_regex("(a|b)*a(a|b){20}"), ErrorCode::kUnsupported, "states");
  expect_grammar_refused(from_regex("((a{1,1000}){1,1000}){1,1000}"), ErrorCode::kUnsupported,
                         "parts");
  expect_grammar_refused(from_regex("(((){1000}){1000}){1000}"), ErrorCode::kUnsupported, "parts");
  expect_grammar_refused(from_regex(std::string(1000, '(')), ErrorCode::kUnsupported, "nested");
  expect_grammar_refused(from_regex(std::string(3'000'000, 'a')), ErrorCode::kUnsupported, "bytes");
}

TEST(GrammarRegex, NothingMatches) {
  expect_grammar_refused(from_regex("a[]"), ErrorCode::kInvalidArgument, "no text fits");
}

TEST(GrammarChoices, OneOfTheTexts) {
  const std::vector<std::string> choices{"yes", "no", "not sure", "é"};
  expect_reads(compiled(from_choices(choices)), choices, {"", "n", "nothing", "yesno"});
  expect_grammar_refused(from_choices({}), ErrorCode::kInvalidArgument, "no choices");
  const std::vector<std::string> empty{"a", ""};
  expect_grammar_refused(from_choices(empty), ErrorCode::kInvalidArgument, "choice 1");
}

}  // namespace
}  // namespace pando::testing
