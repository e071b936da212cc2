// Words as Oniguruma cuts them, and where PCRE2 alone would differ.
#include "text/split_pattern.h"

#include <gtest/gtest.h>

#include <vector>

#include "text/pre_tokenizer.h"
#include "text/utf8.h"

namespace pando {
namespace {

using Words = std::vector<std::string>;

Words words(std::string_view pattern, std::string_view text) {
  const auto compiled = SplitPattern::compile(pattern);
  EXPECT_TRUE(compiled.ok());
  Words found;
  EXPECT_TRUE(
      compiled->split(text, [&](std::string_view word, bool) { found.emplace_back(word); }).ok());
  return found;
}

bool matches(std::string_view pattern, char32_t point) {
  std::string text;
  append_utf8(point, &text);
  const std::string other = "\xEF\xBF\xBD";  // U+FFFD, which no pattern here matches
  return words(pattern, other + text + other).size() == 3;
}

TEST(SplitPattern, Gpt2) {
  EXPECT_EQ(
      words(kGpt2Pattern, "It's 2024, isn't it?  Yes\n\n ok"),
      (Words{"It", "'s", " 2024", ",", " isn", "'t", " it", "?", " ", " Yes", "\n\n", " ok"}));
  EXPECT_EQ(words(kGpt2Pattern, "I'M"), (Words{"I", "'", "M"}));
  EXPECT_EQ(words(kGpt2Pattern, "a   "), (Words{"a", "   "}));
}

TEST(SplitPattern, Qwen2) {
  EXPECT_EQ(words(kQwen2Pattern, "I'M 123\n\n  x.\n(y)"),
            (Words{"I", "'M", " ", "1", "2", "3", "\n\n", " ", " x", ".\n", "(y", ")"}));
}

TEST(SplitPattern, Llama3) {
  EXPECT_EQ(words(kLlama3Pattern, "12345 a"), (Words{"123", "45", " a"}));
}

TEST(SplitPattern, NothingIsLostBetweenMatches) {
  EXPECT_EQ(words("b+", "abbc"), (Words{"a", "bb", "c"}));
  EXPECT_EQ(words("b*", "abbc"), (Words{"a", "bb", "c"}));
  EXPECT_EQ(words("b+", ""), (Words{}));
}

// \s is Unicode's White_Space. PCRE2's own also has U+180E; neither has U+001C to U+001F, which
// Python's has.
TEST(SplitPattern, Spaces) {
  for (char32_t point : {0x09u, 0x0Au, 0x0Bu, 0x0Cu, 0x0Du, 0x20u, 0x85u, 0xA0u, 0x1680u, 0x2000u,
                         0x200Au, 0x2028u, 0x2029u, 0x202Fu, 0x205Fu, 0x3000u}) {
    EXPECT_TRUE(matches("\\s", point)) << static_cast<uint32_t>(point);
    EXPECT_FALSE(matches("[^\\s\xEF\xBF\xBD]", point)) << static_cast<uint32_t>(point);
  }
  for (char32_t point :
       {0x08u, 0x0Eu, 0x1Cu, 0x1Du, 0x1Eu, 0x1Fu, 0x180Eu, 0x200Bu, 0x2060u, 0xFEFFu}) {
    EXPECT_FALSE(matches("\\s", point)) << static_cast<uint32_t>(point);
    EXPECT_TRUE(matches("[^\\s\xEF\xBF\xBD]", point)) << static_cast<uint32_t>(point);
  }
}

// Case folding is Unicode's: the long s is an s.
TEST(SplitPattern, Caseless) {
  EXPECT_EQ(words(kQwen2Pattern, "x'\u017F y"), (Words{"x", "'\u017F", " y"}));
  EXPECT_EQ(words(kGpt2Pattern, "x'\u017F y"), (Words{"x", "'", "\u017F", " y"}));
}

TEST(SplitPattern, LettersAndNumbers) {
  EXPECT_TRUE(matches("\\p{N}", 0xBD));    // one half
  EXPECT_TRUE(matches("\\p{N}", 0x2167));  // roman eight
  EXPECT_TRUE(matches("\\p{N}", 0x0967));  // devanagari one
  EXPECT_TRUE(matches("\\p{L}", 0x4E00));
  EXPECT_TRUE(matches("\\p{L}", 0x1F8));
  EXPECT_FALSE(matches("\\p{L}", 0x301));   // a mark
  EXPECT_FALSE(matches("\\p{L}", 0x24B6));  // alphabetic, and a symbol
}

TEST(SplitPattern, Refusals) { EXPECT_FALSE(SplitPattern::compile("(a").ok()); }

// Runs that a backtracking matcher could be slow on.
TEST(SplitPattern, LongRuns) {
  constexpr size_t kLong = 3'000'000;
  for (std::string_view pattern : {kGpt2Pattern, kQwen2Pattern, kLlama3Pattern}) {
    EXPECT_EQ(words(pattern, std::string(kLong, ' ') + "x").size(), 2u);
    EXPECT_EQ(words(pattern, std::string(kLong, 'x')).size(), 1u);
    EXPECT_EQ(words(pattern, std::string(kLong, '!')).size(), 1u);
    EXPECT_EQ(words(pattern, std::string(kLong, '\n')).size(), 1u);
  }
}

TEST(SplitPattern, Literals) {
  const SplitPattern pattern = SplitPattern::literal("a.(\u00e9\\E");
  int found = 0;
  const Status done =
      pattern.split("xa.(\u00e9\\Ey aX(\u00e9", [&](std::string_view piece, bool is) {
        if (!is) return;
        EXPECT_EQ(piece, "a.(\u00e9\\E");
        ++found;
      });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(found, 1);
}

Words words_of_file(std::string_view pattern, std::string_view text) {
  const auto compiled = SplitPattern::compile_of_file(pattern);
  if (!compiled.ok()) return {compiled.error().message()};
  Words found;
  EXPECT_TRUE(
      compiled->split(text, [&](std::string_view word, bool) { found.emplace_back(word); }).ok());
  return found;
}

// Syntax that only Oniguruma reads so; data/steps.jsonl has more, against the library `tokenizers`.
TEST(SplitPattern, RubysSyntaxInFiles) {
  EXPECT_EQ(words_of_file(R"(\b)", "ab c"), (Words{"", "ab", "", " ", "", "c", ""}));
  EXPECT_EQ(words_of_file(R"(\h+)", "xafz"), (Words{"x", "af", "z"}));
  EXPECT_EQ(words_of_file(R"([a-z&&[^aeiou]]+)", "abcde"), (Words{"a", "bcd", "e"}));
  EXPECT_EQ(words_of_file(R"((\w)\1)", "abba"), (Words{"a", "bb", "a"}));
  EXPECT_EQ(words_of_file(R"((?<q>['"]).*?\k<q>)", "a'b\"c'd"), (Words{"a", "'b\"c'", "d"}));
  EXPECT_EQ(words_of_file("b*", "abbc"), (Words{"", "a", "bb", "c", ""}));
  EXPECT_EQ(words_of_file("(?i:ss)", "a\u00DFb"), (Words{"a", "\u00DF", "b"}));
}

TEST(SplitPattern, RepeatsInFiles) {
  for (const char* pattern : {"(?:a{1000}){66}", "(?=(?:a?){99999})", "a{2}{40000}", "a{70000,}",
                              "(?:[{](?:b|a{300})c){219}"}) {
    EXPECT_NE(words_of_file(pattern, "a")[0].find("repeats a part more than 65535 times"),
              std::string::npos)
        << pattern;
  }
  for (const char* pattern : {"a{1000}b{1000}", "(?:a{255}|b{255}){257}", "[{99999}]", "\\{99999",
                              "\\x{10000}\\p{L}{1000}"}) {
    EXPECT_EQ(words_of_file(pattern, "z"), (Words{"z"})) << pattern;
  }
  const std::string deep = std::string(300, '(') + "a" + std::string(300, ')');
  EXPECT_NE(words_of_file(deep, "a")[0].find("does not compile"), std::string::npos);
}

// An expression of a file has a limit, which those that are published stay far from.
TEST(SplitPattern, LimitOfAFilesExpression) {
  const auto n_words = [](std::string_view pattern, const std::string& text) {
    const auto compiled = SplitPattern::compile_of_file(pattern);
    EXPECT_TRUE(compiled.ok());
    int n = 0;
    const Status done = compiled->split(text, [&](std::string_view, bool) { ++n; });
    return done.ok() ? Result<int>(n) : Result<int>(done.error());
  };
  constexpr size_t kLong = 3'000'000;
  for (std::string_view pattern : {kGpt2Pattern, kQwen2Pattern, kLlama3Pattern}) {
    for (char c : {' ', 'x', '!', '\n'}) EXPECT_TRUE(n_words(pattern, std::string(kLong, c)).ok());
  }
  EXPECT_EQ(*n_words("(?:a|a)+[^a]", "aaab"), 1);
  const auto refused = n_words("(?:a|a)+[^a]", std::string(60, 'a'));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message().find("too many steps at byte 0 of 60"), std::string::npos)
      << refused.error().message();
}

Words pre_tokenized(std::vector<PreStep> steps, std::string_view text, bool at_start = true) {
  Words found;
  const PreTokenizer pre_tokenizer(std::move(steps));
  EXPECT_TRUE(
      pre_tokenizer.split(text, at_start, [&](std::string_view word) { found.emplace_back(word); })
          .ok());
  return found;
}

TEST(PreTokenizer, StepsInOrder) {
  const auto digits = *SplitPattern::compile("\\p{N}");
  const auto gpt2 = *SplitPattern::compile(kGpt2Pattern);
  EXPECT_EQ(pre_tokenized({}, "a b"), (Words{"a b"}));
  EXPECT_EQ(pre_tokenized({pre::Split{digits}, pre::SpaceBefore{}}, "a1"), (Words{" a", " 1"}));
  EXPECT_EQ(pre_tokenized({pre::Split{gpt2}, pre::Split{digits}}, "ab 12"),
            (Words{"ab", " ", "1", "2"}));
}

TEST(PreTokenizer, Metaspace) {
  pre::Metaspace step{"_", pre::Metaspace::Prepend::kFirst, true};
  EXPECT_EQ(pre_tokenized({step}, "a  b"), (Words{"_a", "_", "_b"}));
  EXPECT_EQ(pre_tokenized({step}, " a"), (Words{"_a"}));
  EXPECT_EQ(pre_tokenized({step}, "a b", false), (Words{"a", "_b"}));
  step.split = false;
  EXPECT_EQ(pre_tokenized({step}, "a  b"), (Words{"_a__b"}));
}

// Each turn writes a mark before each character of the one before.
TEST(PreTokenizer, WhatStepsWriteHasALimit) {
  const auto each = *SplitPattern::compile(".");
  std::vector<PreStep> steps;
  for (int i = 0; i < 16; ++i) {
    steps.emplace_back(pre::Split{each});
    steps.emplace_back(pre::Metaspace{i % 2 == 0 ? "_" : "-"});
  }
  const Status done = PreTokenizer(steps).split("ab", true, [](std::string_view) {});
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().message().find("more than 256 times"), std::string::npos);
}

}  // namespace
}  // namespace pando
