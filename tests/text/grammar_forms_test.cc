// Grammars of llama.cpp and of Lark.
#include "grammar_testing.h"

namespace pando::testing {
namespace {

using grammar::from_gbnf;
using grammar::from_lark;

TEST(GrammarGbnf, RulesSetsAndRepetitions) {
  const auto grammar = compiled(from_gbnf(R"~(# sums
root ::= expr
expr ::= term ([-+*/] term)*   # of terms
term ::= num |
  "(" ws expr ws ")"
num ::= [0-9]{1,3} ("." [0-9]+)?
ws ::= [ \t\n]*)~"));
  expect_reads(grammar, {"1", "1+22*3.5", "(1-(2))/3", "( 1 )"}, {"", "1234", "1 + 2", "(1", "1."});
}

TEST(GrammarGbnf, CharactersAndEscapes) {
  expect_reads(compiled(from_gbnf(R"(root ::= [^a-z\]] "\"\x41\u00e9" .)")), {"A\"Aéz", "é\"Aé\n"},
               {"]\"Aéz", "b\"Aéz"});
}

TEST(GrammarGbnf, RecursionOnEitherSide) {
  const auto left = compiled(from_gbnf("root ::= root \",\" item | item\nitem ::= \"a\" | \"b\""));
  expect_reads(left, {"a", "a,b,a"}, {"", "a,", ",a"});
  const auto middle = compiled(from_gbnf("root ::= \"(\" root \")\" | \"\""));
  expect_reads(middle, {"", "((()))"}, {"(", "())"});
  const auto any = compiled(from_gbnf("root ::= root root | \"a\" | \"\""));
  expect_reads(any, {"", "a", "aaaaaaa"}, {"b"});
}

TEST(GrammarGbnf, RefusesByName) {
  expect_grammar_refused(from_gbnf("start ::= \"a\""), ErrorCode::kInvalidArgument, "'root'");
  expect_grammar_refused(from_gbnf("root ::= other"), ErrorCode::kInvalidArgument, "'other'");
  expect_grammar_refused(from_gbnf("root ::= \"a\nroot ::= \"b\""), ErrorCode::kInvalidArgument,
                         "line");
  expect_grammar_refused(from_gbnf("root ::= \"a\"\n  | \"b\""), ErrorCode::kInvalidArgument,
                         "line 2");
  expect_grammar_refused(from_gbnf("root ::= <|end|>"), ErrorCode::kUnsupported, "a token");
  expect_grammar_refused(from_gbnf("root ::= \"a\"{3,2}"), ErrorCode::kInvalidArgument, "minimum");
  expect_grammar_refused(from_gbnf("root ::= \"a\" root"), ErrorCode::kInvalidArgument,
                         "no text fits");
  expect_grammar_refused(from_gbnf("root ::= (((\"a\"{1000}){1000}){1000})"),
                         ErrorCode::kUnsupported, "parts");
  expect_grammar_refused(from_gbnf("root ::= " + std::string(1000, '(')), ErrorCode::kUnsupported,
                         "more than 200 brackets");
}

TEST(GrammarLark, RulesTerminalsAndIgnored) {
  const auto grammar = compiled(from_lark(R"~(// sums
start: expr
?expr: expr "+" term -> sum
     | term
term: NUMBER | "(" expr ")" | call
call: NAME "(" [expr ("," expr)*] ")"
NAME: /[a-z]+/i
%import common.NUMBER
%import common.WS
%ignore WS)~"));
  expect_reads(grammar, {"1", "1 + 2.5", "(1+2)\n+ f( 3 , g() )", "1 "},
               {" 1", "1+", "f(,)", "1 2e"});
}

TEST(GrammarLark, RangesCasesAndCounts) {
  expect_reads(compiled(from_lark("start: \"a\"~2..3 \"x\"i B?\nB: /[/]y/ | \"q\"..\"s\"")),
               {"aax", "aaaX/y", "aaXr"}, {"ax", "aaaax", "aaxt"});
}

// Each would nest once more.
TEST(GrammarLark, RepetitionsOfRepetitionsAreBounded) {
  const std::string many(100'000, '*');
  EXPECT_FALSE(from_lark("start: \"a\"" + many).ok());
  EXPECT_FALSE(from_gbnf("root ::= \"a\"" + many).ok());
  EXPECT_FALSE(grammar::from_regex("a" + std::string(many.size(), '+')).ok());
  std::string pattern = "a";
  for (int i = 0; i < 10'000; ++i) pattern += "{1}";
  expect_grammar_refused(grammar::from_regex(pattern), ErrorCode::kUnsupported, "many repetitions");
}

TEST(GrammarLark, RefusesByName) {
  expect_grammar_refused(from_lark("start: A\nA: \"x\" A | \"y\""), ErrorCode::kInvalidArgument,
                         "'A'");
  expect_grammar_refused(from_lark("start: a{b}"), ErrorCode::kUnsupported, "template");
  expect_grammar_refused(from_lark("start: \"a\"\n%declare B"), ErrorCode::kUnsupported,
                         "%declare");
  expect_grammar_refused(from_lark("start: \"a\"\n%import common.SQL"), ErrorCode::kUnsupported,
                         "common.SQL");
  expect_grammar_refused(from_lark("start[lazy]: \"a\""), ErrorCode::kUnsupported, "attribute");
  expect_grammar_refused(from_lark("start: <eos>"), ErrorCode::kUnsupported, "a token");
  expect_grammar_refused(from_lark("start: /^a/"), ErrorCode::kUnsupported, "'^'");
  expect_grammar_refused(from_lark("start: A\nA: b\nb: \"x\""), ErrorCode::kInvalidArgument,
                         "'b', which is a rule");
  expect_grammar_refused(from_lark("begin: \"a\""), ErrorCode::kInvalidArgument, "'start'");
}

}  // namespace
}  // namespace pando::testing
