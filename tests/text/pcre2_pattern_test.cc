#include "text/pcre2_pattern.h"

#include <gtest/gtest.h>

#include "text/split_pattern.h"

namespace pando {
namespace {

TEST(Pcre2Pattern, WritesOutWhatPcre2ReadsOtherwise) {
  EXPECT_EQ(*to_pcre2_pattern("\\\\s[\\]\\s]"), "\\\\s[\\]\\t-\\r\\x{85}\\p{Z}]");
  EXPECT_EQ(*to_pcre2_pattern("a.$"), "a[^\\n](?=\\n|\\z)");
  EXPECT_EQ(*to_pcre2_pattern("\\d+?\\P{^Lu}\\p{Han}"), "[\\p{Nd}]+?\\p{Lu}\\p{sc:Han}");
  EXPECT_EQ(*to_pcre2_pattern("\\u00e9\\x41\\x{1F600}\\v"), "\\x{00e9}\\x{41}\\x{1F600}\\x{0B}");
  EXPECT_EQ(*to_pcre2_pattern("(?i:'re|[sdmt])x{1,3}?"), "(?i:'re|[sdmt])x{1,3}?");
}

// Each is well formed in Ruby and means something else to PCRE2, or nothing.
TEST(Pcre2Pattern, RefusesByName) {
  for (const auto& [pattern, named] : std::initializer_list<std::pair<const char*, const char*>>{
           {"\\h", "'\\h'"},
           {"a\\b", "'\\b'"},
           {"(a)\\1", "'\\1'"},
           {"[\\S]", "complement"},
           {"[a[bc]]", "'[' inside a set"},
           {"[a&&b]", "'&&'"},
           {"[]a]", "empty set"},
           {"[a", "not closed"},
           {"(?i)a", "'(?i'"},
           {"(?m:.)", "'(?m'"},
           {"(?<name>a)", "'(?<'"},
           {"(*FAIL)", "'(*F'"},
           {"a{1,3}+", "quantifier of a quantifier"},
           {"a{2}?", "quantifier of a quantifier"},
           {"a**", "quantifier of a quantifier"},
           {"a{,3}", "'{'"},
           {"\\p{Alpha}", "'Alpha'"},
           {"\\pL", "\\p without {"},
           {"(?i:\\p{Lu})", "'Lu'"},
           {"(?i:ss)", "'ss'"},
           {"(?i:\u00e9)", "beyond ASCII"},
           {"\\x{110000000}", "without its digits"},
           {"\\xE9", "'\\xE9'"},
           {"a\\", "at the end"},
           {"(a", "does not compile"},
       }) {
    const auto compiled = SplitPattern::compile(pattern);
    ASSERT_FALSE(compiled.ok()) << pattern;
    EXPECT_EQ(compiled.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(compiled.error().message().find(named), std::string::npos) << compiled.error().message();
  }
}

}  // namespace
}  // namespace pando
