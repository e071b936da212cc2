// Byte-pair encoding with vocabularies of a handful of merges.
#include "text/bpe.h"

#include <random>

#include "text_testing.h"

namespace pando::testing {
namespace {

std::vector<Token> bytes_of(std::string_view text) {
  std::vector<Token> tokens;
  for (char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
  return tokens;
}

TEST(Bpe, LowestRankFirstLeftmostAmongEquals) {
  const auto tokenizer = load_json(byte_level_json({"bc", "ab", "abc", "aa"},  // 256 to 259
                                                   {"b c", "a b", "ab c", "a a"}));
  EXPECT_EQ(encode(*tokenizer, "abc"), (std::vector<Token>{'a', 256}));
  EXPECT_EQ(encode(*tokenizer, "ab"), (std::vector<Token>{257}));
  EXPECT_EQ(encode(*tokenizer, "aaa"), (std::vector<Token>{259, 'a'}));
  EXPECT_EQ(encode(*tokenizer, ""), (std::vector<Token>{}));
}

TEST(Bpe, MergesAsPairsAndStringsAreTheSame) {
  const auto pairs = load_json(byte_level_json({"ab"}, Json::array({Json::array({"a", "b"})})));
  EXPECT_EQ(encode(*pairs, "ab"), (std::vector<Token>{256}));
}

TEST(Bpe, IgnoreMergesTakesWholeWords) {
  Json document = byte_level_json({"abc"}, Json::array());
  EXPECT_EQ(encode(*load_json(document), "abc"), bytes_of("abc"));
  document["model"]["ignore_merges"] = true;
  EXPECT_EQ(encode(*load_json(document), "abc"), (std::vector<Token>{256}));
  EXPECT_EQ(encode(*load_json(document), "abcd"), bytes_of("abcd"));
}

// The definition, quadratic: merge the lowest rank, leftmost, until none is left.
std::vector<Token> merged_naively(const MergeTable& merges, std::vector<Token> tokens) {
  while (true) {
    MergeTable::Found best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = merges.find(tokens[i], tokens[i + 1]);
      if (found.rank < best.rank) best = found, at = i;
    }
    if (best.rank == MergeTable::kNone) return tokens;
    tokens[at] = best.result;
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

TEST(Bpe, AgreesWithTheDefinitionOnRandomMerges) {
  std::mt19937 random(1);
  const auto draw = [&](int below) { return static_cast<Token>(random() % below); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Merge> merges;           // in any order: results may merge earlier than their parts
    for (uint32_t i = 0; i < 40; ++i) {  // some share a rank: then the leftmost goes first
      merges.push_back({draw(20), draw(20), draw(20), round % 3 == 0 ? i / 4 : i});
    }
    const MergeTable table(merges);
    std::vector<Token> word(1 + draw(round % 2 == 0 ? 40 : 400));
    for (Token& token : word) token = draw(20);
    const std::vector<Token> expected = merged_naively(table, word);
    std::vector<Token> tokens = {7, 7};  // tokens before the word stay
    tokens.insert(tokens.end(), word.begin(), word.end());
    merge_word(table, 2, &tokens);
    EXPECT_EQ(std::vector<Token>(tokens.begin() + 2, tokens.end()), expected);
    EXPECT_EQ(tokens[0], 7);
  }
}

TEST(Bpe, ALongWordIsNotQuadratic) {
  std::vector<std::string> tokens;
  Json merges = Json::array();
  for (std::string a = "a"; a.size() < 64; a += a) {
    tokens.push_back(a + a);
    merges.push_back(Json::array({a, a}));
  }
  const auto tokenizer = load_json(byte_level_json(tokens, merges));
  const std::vector<Token> ids = encode(*tokenizer, std::string(4'000'000, 'a'));
  EXPECT_EQ(ids.size(), 4'000'000u / 64);
  EXPECT_EQ(encode(*tokenizer, std::string(2'000'000, ' ')).size(), 2'000'000u);
}

TEST(Bpe, WordsOfVocabAndMergesFollowTheClass) {
  const TempDirectory directory;
  directory.write_json("vocab.json", byte_vocab({"12", "Ġa"}));
  directory.write("merges.txt", "#version: 0.2\n1 2\r\nĠ a\n");
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "12 a"), (std::vector<Token>{256, 257}));
  directory.write_json("tokenizer_config.json", Json{{"tokenizer_class", "Qwen2Tokenizer"}});
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "12 a"),
            (std::vector<Token>{'1', '2', 257}));  // each digit is a word of its own
}

TEST(Bpe, Qwen2NormalisesGpt2DoesNot) {
  const TempDirectory directory;
  directory.write_json("encoder.json", byte_vocab());
  directory.write("vocab.bpe", "");
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "e\u0301"), bytes_of("e\u0301"));
  directory.write_json("tokenizer_config.json", Json{{"tokenizer_class", "Qwen2TokenizerFast"}});
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "e\u0301"), bytes_of("\u00E9"));
}

TEST(Bpe, PrefixSpace) {
  Json document = byte_level_json({}, Json::array());
  document["pre_tokenizer"]["add_prefix_space"] = true;
  EXPECT_EQ(encode(*load_json(document), "a"), bytes_of(" a"));
  EXPECT_EQ(encode(*load_json(document), " a"), bytes_of(" a"));
}

TEST(Bpe, TextThatIsNotUtf8IsRefusedWithItsOffset) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  const auto tokens = tokenizer->encode("ab\xFFzz", false);
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(tokens.error().message().find("byte 2"), std::string::npos);
}

TEST(Bpe, IdsOutsideTheVocabularyAreEmpty) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  EXPECT_EQ(tokenizer->vocab_size(), 256);
  EXPECT_EQ(tokenizer->token_bytes(-1, false), "");
  EXPECT_EQ(tokenizer->token_bytes(256, false), "");
  EXPECT_EQ(tokenizer->token_bytes(0xFF, false), "\xFF");
}

}  // namespace
}  // namespace pando::testing
