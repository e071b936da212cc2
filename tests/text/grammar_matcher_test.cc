// Masks and states of answers, against reading each token by itself.
#include <algorithm>
#include <array>
#include <random>

#include "grammar_testing.h"

namespace pando::testing {
namespace {

using grammar::MaskStore;
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

const grammar::MaskStorePtr& mask_store() {
  static const auto store = [] {
    auto all = pieces();
    const auto end = static_cast<Token>(all.size() - 1);
    return std::make_shared<MaskStore>(
        std::make_shared<const Vocabulary>(std::move(all), std::vector<Token>{end}));
  }();
  return store;
}

std::shared_ptr<const MaskTable> table_of(const grammar::GrammarPtr& grammar) {
  return std::make_shared<const MaskTable>(grammar, mask_store());
}

bool is_allowed(const Matcher& matcher, Token token) { return Matcher(matcher).accept(token).ok(); }

std::vector<Token> allowed_by_mask(Matcher* matcher, size_t n_tokens) {
  std::vector<uint64_t> bits((n_tokens + 63) / 64);
  const auto n = matcher->mask(bits);
  EXPECT_TRUE(n.ok());
  std::vector<Token> tokens;
  for (size_t i = 0; i < n_tokens; ++i)
    if (bits[i / 64] >> (i % 64) & 1) tokens.push_back(static_cast<Token>(i));
  EXPECT_EQ(std::min<size_t>(tokens.size(), 2), *n);
  return tokens;
}

// Walks at random along allowed tokens; at each place the mask agrees with accept().
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
      if (is_allowed(matcher, static_cast<Token>(i))) by_token.push_back(static_cast<Token>(i));
    ASSERT_EQ(allowed, by_token) << "behind " << text;
    ASSERT_EQ(matcher.can_end(), reads(grammar, text)) << text;
    const Token token = allowed[random() % allowed.size()];
    ASSERT_TRUE(matcher.accept(token).ok());
    text += table->vocabulary().bytes(token);
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
  EXPECT_FALSE(copy.is_ended());
  EXPECT_TRUE(copy.accept('a').ok());
}

TEST(GrammarMatcher, HalvesOfCharacters) {
  const auto table = table_of(compiled(grammar::from_regex("[\\u20ac\\u{1F600}]b?")));
  Matcher matcher(table);
  EXPECT_TRUE(is_allowed(matcher, 0xE2));
  EXPECT_TRUE(is_allowed(matcher, 0xF0));
  EXPECT_FALSE(is_allowed(matcher, 0xC3));
  ASSERT_TRUE(matcher.accept(0xE2).ok());
  EXPECT_FALSE(is_allowed(matcher, 0x81));
  ASSERT_TRUE(matcher.accept(0x82).ok());
  ASSERT_TRUE(matcher.accept(0xAC).ok());
  EXPECT_TRUE(matcher.can_end());
}

// A refused token leaves the state as it was, after any number of tokens.
TEST(GrammarMatcher, ARefusedTokenChangesNothing) {
  Matcher matcher(table_of(compiled(grammar::from_any_json(true))));
  const std::string text = R"({"a":[1,{"b":"c"}],"d":{"e":null}})";
  for (const char c : text) {
    for (const Token wrong : {Token{'!'}, Token{0xFF}}) {
      if (is_allowed(matcher, wrong)) continue;  // inside a string
      EXPECT_FALSE(matcher.accept(wrong).ok());
    }
    ASSERT_TRUE(matcher.accept(static_cast<uint8_t>(c)).ok()) << c;
  }
  EXPECT_TRUE(matcher.can_end());
  EXPECT_TRUE(matcher.must_end());
}

// Strings of a length, whose states allow whole subtrees of the vocabulary, are told exactly.
TEST(GrammarMatcher, LengthsInCharacters) {
  for (const int length : {1, 2, 3, 5, 8, 20})
    walk_at_random(compiled(grammar::from_json_schema(R"({"type": "string", "maxLength": )" +
                                                      std::to_string(length) + "}")),
                   static_cast<unsigned>(length), 12);
  for (const char* narrow :
       {R"("minLength": 5, "maxLength": 40)", R"("minLength": 4, "pattern": "^(aaa|aaaaa)*$")",
        R"("minLength": 3, "maxLength": 7, "pattern": "^(ab|\u00e9\"c)*$")",
        R"("minLength": 4, "maxLength": 30, "format": "hostname")"})
    walk_at_random(
        compiled(grammar::from_json_schema(R"({"type": "string", )" + std::string(narrow) + "}")),
        7, 14);
  walk_at_random(compiled(grammar::from_regex("(.|\n){3,9}x")), 1, 8);
  walk_at_random(compiled(grammar::from_regex("[^a]{2,6}")), 2, 6);
  walk_at_random(compiled(grammar::from_regex("[^\\x00-\\x1f]{2,6}é?")), 3, 6);
}

// The states of any string are the same in all grammars, so that one mask serves all.
TEST(GrammarMatcher, StringsShareMasks) {
  const auto is_string_state = [](const grammar::Grammar& grammar, uint32_t state) {
    return grammar.place_in_string(state) != grammar::Grammar::kNone;
  };
  const auto steps_of_string = [&](const grammar::Grammar& grammar) {
    std::vector<std::vector<std::array<uint32_t, 3>>> all;
    for (uint32_t state = 0; state < grammar.n_states(); ++state) {
      if (!is_string_state(grammar, state)) continue;
      all.emplace_back();
      for (const grammar::Grammar::Step& step : grammar.steps(state))
        all.back().push_back({step.first, step.last, grammar.place_in_string(step.target)});
    }
    return all;
  };
  const auto any = compiled(grammar::from_any_json(true));
  const auto schema = compiled(grammar::from_json_schema(
      R"({"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}})"));
  const auto expected = steps_of_string(*any);
  EXPECT_GT(expected.size(), 10u);
  EXPECT_EQ(steps_of_string(*schema), expected);

  const auto store = std::make_shared<MaskStore>(std::make_shared<const Vocabulary>(
      pieces(), std::vector<Token>{static_cast<Token>(pieces().size() - 1)}));
  const auto mask_inside = [&](const grammar::GrammarPtr& grammar) {
    Matcher matcher(std::make_shared<const MaskTable>(grammar, store));
    for (const char c : std::string(R"({"s":"ab)"))
      EXPECT_TRUE(matcher.accept(static_cast<uint8_t>(c)).ok()) << c;
    return allowed_by_mask(&matcher, store->vocabulary().size());
  };
  const std::vector<Token> in_any = mask_inside(any);
  const size_t n_bytes = store->n_bytes();
  EXPECT_EQ(mask_inside(schema), in_any);
  EXPECT_EQ(store->n_bytes(), n_bytes);
}

TEST(GrammarMatcher, MasksAreBoundedInBytes) {
  const auto vocabulary = std::make_shared<const Vocabulary>(
      pieces(), std::vector<Token>{static_cast<Token>(pieces().size() - 1)});
  constexpr size_t kMostBytes = 20'000;
  MaskStore store(vocabulary, kMostBytes);
  const auto mask = [&](size_t n_words) {
    auto of = std::make_shared<grammar::StateMask>();
    of->bits.resize(n_words);
    return of;
  };
  for (uint32_t state = 0; state < 1000; ++state) {
    store.add({1, state}, mask(40));
    EXPECT_LE(store.n_bytes(), kMostBytes);
    // Masks in regular use stay.
    if (store.find({2, 0}) == nullptr) {
      EXPECT_EQ(state, 0u);
      store.add({2, 0}, mask(40));
    }
  }
  EXPECT_NE(store.find({1, 999}), nullptr);
  EXPECT_EQ(store.find({1, 0}), nullptr);
  store.add({3, 0}, mask(kMostBytes));  // larger than all
  EXPECT_EQ(store.find({3, 0}), nullptr);
  EXPECT_NE(store.find({2, 0}), nullptr);
}

// "é" is a token, and begins like these.
TEST(GrammarMatcher, CharactersThatBeginAlike) {
  for (const char* pattern : {"\\u00da+a?", "(\\u00ea|\\u20ad)b?", "[\\u00c0-\\u00c5]{2}"})
    walk_at_random(compiled(grammar::from_regex(pattern)), 1, 6);
  walk_at_random(compiled(grammar::from_json_schema(R"({"enum": ["\u00da", "\u00eaa"]})")), 2, 8);
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
