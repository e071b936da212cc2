// Masks and states of answers, against reading each token by itself.
#include <random>

#include "grammar_testing.h"

namespace pando::testing {
namespace {

using grammar::MaskTable;
using grammar::Matcher;
using grammar::Vocabulary;

// All bytes, pieces of JSON, halves of characters, and an end token, the last.
std::vector<std::string> pieces() {
  std::vector<std::string> all;
  for (int byte = 0; byte < 256; ++byte) all.emplace_back(1, static_cast<char>(byte));
  for (const char* more :
       {"{\"",     "\":",      "\":\"",    "\",\"",   "\"}",      "}}",          "},{",
        "[{",      "true",     "nul",      "ab",      "name",     "\"name\":\"", "12",
        "1,",      "\xC3\xA9", "\xE2\x82", "\xAC\"",  "\xF0\x9F", "\\\"",        "\\u00",
        "a\",\"b", "]}",       "],\"",     "\"],[\"", "-1",       ".5",          "e+"})
    all.emplace_back(more);
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {  // enough of them that states are kept
    std::string text;
    for (size_t n = 1 + random() % 5; text.size() < n;)
      text += "abcdefgh \"\\,:{}[]019"[random() % 20];
    all.push_back(text);
  }
  for (int i = 0; i < 900; ++i) all.push_back("word" + std::to_string(i));
  all.emplace_back("</s>");
  return all;
}

std::shared_ptr<MaskTable> table_of(const grammar::GrammarPtr& grammar) {
  static const auto vocabulary = [] {
    auto all = pieces();
    const auto end = static_cast<Token>(all.size() - 1);
    return std::make_shared<const Vocabulary>(std::move(all), std::vector<Token>{end});
  }();
  return std::make_shared<MaskTable>(grammar, vocabulary);
}

std::vector<Token> allowed_by_mask(Matcher* matcher, size_t n_tokens) {
  std::vector<uint64_t> bits((n_tokens + 63) / 64);
  const auto n = matcher->mask(bits);
  EXPECT_TRUE(n.ok());
  std::vector<Token> tokens;
  for (size_t i = 0; i < n_tokens; ++i)
    if (bits[i / 64] >> (i % 64) & 1) tokens.push_back(static_cast<Token>(i));
  EXPECT_EQ(tokens.size(), *n);
  return tokens;
}

// Walks at random along what the mask allows; at each place it is what accept() allows.
void walk_at_random(const grammar::GrammarPtr& grammar, unsigned seed, int n_steps) {
  const auto table = table_of(grammar);
  const size_t n_tokens = table->vocabulary().size();
  std::mt19937 random(seed);
  Matcher matcher(table);
  std::string text;
  for (int step = 0; step < n_steps && !matcher.is_ended(); ++step) {
    const auto allowed = allowed_by_mask(&matcher, n_tokens);
    ASSERT_FALSE(allowed.empty()) << text;
    std::vector<Token> by_token;
    for (size_t i = 0; i < n_tokens; ++i)
      if (matcher.is_allowed(static_cast<Token>(i))) by_token.push_back(static_cast<Token>(i));
    ASSERT_EQ(allowed, by_token) << "behind " << text;
    ASSERT_EQ(matcher.can_end(), reads(grammar, text)) << text;
    const std::string forced = matcher.forced_bytes();
    const Token token = allowed[random() % allowed.size()];
    const std::string& bytes = table->vocabulary().bytes(token);
    const size_t n_common = std::min(forced.size(), bytes.size());
    ASSERT_TRUE(matcher.can_end() || forced.substr(0, n_common) == bytes.substr(0, n_common))
        << forced;
    ASSERT_TRUE(matcher.accept(token).ok());
    text += bytes;
    if (random() % 4 == 0) {  // back, and the same again
      matcher.roll_back(1);
      ASSERT_EQ(allowed_by_mask(&matcher, n_tokens), allowed);
      ASSERT_TRUE(matcher.accept(token).ok());
    }
  }
}

TEST(GrammarMatcher, MasksAreWhatIsAccepted) {
  const std::vector<grammar::GrammarPtr> grammars{
      compiled(grammar::from_any_json(false)),
      compiled(grammar::from_json_schema(
          R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 6},
        "ab": {"type": "array", "items": {"$ref": "#"}}, "n": {"type": "number", "minimum": -1.5}}, "required": ["name"]})")),
      compiled(grammar::from_json_schema(
          R"({"anyOf": [{"type": "string", "pattern": "^a"}, {"enum": ["ab", "é€"]},
        {"type": "array", "items": {"type": "string"}}]})")),
      compiled(grammar::from_gbnf(
          "root ::= \"(\" root \")\" | w\nw ::= \"a\" w | \"a\" | \"word\" [0-9]+")),
      compiled(grammar::from_lark("start: (WORD \",\")* WORD\nWORD: /[a-h]+/\n%ignore / +/"))};
  for (const auto& grammar : grammars)
    for (unsigned seed = 0; seed < 3; ++seed) walk_at_random(grammar, seed, 20);
  // All that is written can be read in many ways.
  walk_at_random(compiled(grammar::from_gbnf("root ::= root root | \"a\" | \"ab\" | [^a]")), 0, 3);
}

TEST(GrammarMatcher, ForcedBytesAreTheOnlyWay) {
  const auto grammar = compiled(grammar::from_json_schema(
      R"({"type": "object", "properties": {"answer": {"enum": ["yes", "yellow"]}}, "required": ["answer"], "additionalProperties": false})"));
  Matcher matcher(table_of(grammar));
  EXPECT_EQ(matcher.forced_bytes(), "{\"answer\":\"ye");
  EXPECT_EQ(matcher.forced_bytes(3), "{\"a");
  for (const char byte : std::string("{\"answer\":\"yes"))
    ASSERT_TRUE(matcher.accept(static_cast<uint8_t>(byte)).ok());
  EXPECT_EQ(matcher.forced_bytes(), "\"}");
}

TEST(GrammarMatcher, EndsWhereTheTextIsComplete) {
  const auto table = table_of(compiled(grammar::from_regex("a+")));
  const auto end = static_cast<Token>(table->vocabulary().size() - 1);
  Matcher matcher(table);
  EXPECT_FALSE(matcher.accept(end).ok());
  EXPECT_FALSE(matcher.accept('b').ok());
  ASSERT_TRUE(matcher.accept('a').ok());
  EXPECT_TRUE(matcher.can_end());
  EXPECT_FALSE(matcher.must_end());
  Matcher copy = matcher;
  ASSERT_TRUE(matcher.accept(end).ok());
  EXPECT_TRUE(matcher.is_ended());
  EXPECT_FALSE(matcher.accept('a').ok());
  matcher.roll_back(2);
  EXPECT_EQ(matcher.n_tokens(), 0u);
  EXPECT_FALSE(matcher.can_end());
  ASSERT_TRUE(copy.accept('a').ok());
  EXPECT_EQ(copy.n_tokens(), 2u);
}

TEST(GrammarMatcher, HalvesOfCharacters) {
  const auto table = table_of(compiled(grammar::from_regex("[\\u20ac\\u{1F600}]b?")));
  Matcher matcher(table);
  EXPECT_TRUE(matcher.is_allowed(0xE2));
  EXPECT_TRUE(matcher.is_allowed(0xF0));
  EXPECT_FALSE(matcher.is_allowed(0xC3));
  ASSERT_TRUE(matcher.accept(0xE2).ok());
  EXPECT_EQ(matcher.forced_bytes(), "\x82\xAC");
  EXPECT_FALSE(matcher.is_allowed(0x81));
  ASSERT_TRUE(matcher.accept(0x82).ok());
  ASSERT_TRUE(matcher.accept(0xAC).ok());
  EXPECT_TRUE(matcher.can_end());
}

TEST(GrammarMatcher, ManyReadingsStayFew) {
  const auto right =
      compiled(grammar::from_gbnf("root ::= x\nx ::= \"a\" y | \"\"\ny ::= \"b\" x"));
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "ab";
  EXPECT_TRUE(reads(right, text));
  const auto any = compiled(grammar::from_gbnf("root ::= root root | root root root | \"a\""));
  EXPECT_TRUE(reads(any, std::string(60, 'a')));
}

}  // namespace
}  // namespace pando::testing
