// Unigram vocabularies of GGUF files. The expected tokens are those of llama.cpp.
#include <limits>

#include "base/gguf_writer.h"
#include "text/base64.h"
#include "text/character_map.h"
#include "text/stream_decoder.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

using Tokens = std::vector<Token>;

struct UnigramPiece {
  std::string text;
  int32_t type;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused
  float score;
};

// The control tokens <pad> 0, </s> 1; <unk> 2; <sep> 9 is user-defined, "cc" 10 unused.
std::vector<UnigramPiece> unigram_pieces() {
  return {{"<pad>", 3, 0},    {"</s>", 3, 0},    {"<unk>", 2, 0},   {"\u2581", 1, -2},
          {"\u2581a", 1, -1}, {"b", 1, -1.5},    {"ab", 1, -2.4F},  {"\u2581ab", 1, -3},
          {"c", 1, -2},       {"<sep>", 4, 0},   {"cc", 5, -0.5},   {"q", 1, -2},
          {"1", 1, -2.5},     {"\u00E9", 1, -2}, {"\u30AC", 1, -2}, {"\u30AB", 1, -2},
          {" ", 1, -4},       {"a", 1, -2}};
}

GgufWriter unigram_writer(const std::vector<UnigramPiece>& pieces = unigram_pieces()) {
  std::vector<std::string> texts;
  std::vector<int32_t> types;
  std::vector<float> scores;
  for (const UnigramPiece& piece : pieces) {
    texts.push_back(piece.text);
    types.push_back(piece.type);
    scores.push_back(piece.score);
  }
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "t5")
      .strings("tokenizer.ggml.tokens", texts)
      .numbers("tokenizer.ggml.token_type", GgufType::kInt32, types)
      .numbers("tokenizer.ggml.scores", GgufType::kFloat32, scores);
  return writer;
}

GgufWriter with_spaces(GgufWriter writer, bool first, bool removes) {
  writer.boolean("tokenizer.ggml.add_space_prefix", first)
      .boolean("tokenizer.ggml.remove_extra_whitespaces", removes);
  return writer;
}

// The character map of the tokenizer "map" in data/unigram.jsonl.
std::vector<uint8_t> character_map_bytes() {
  std::ifstream file(PANDO_SOURCE_DIR "/tests/text/data/unigram.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json made = Json::parse(line);
    if (made["name"] != "map") continue;
    const Json& step = made["tokenizer"]["normalizer"]["normalizers"][0];
    const std::string bytes = from_base64(step["precompiled_charsmap"].get<std::string>()).value();
    return {bytes.begin(), bytes.end()};
  }
  throw std::runtime_error("no tokenizer 'map'");
}

Result<std::unique_ptr<Tokenizer>> load_unigram(const GgufWriter& writer) {
  const TempDirectory directory;
  directory.write("model.gguf", writer.bytes());
  return Tokenizer::load(directory.path() / "model.gguf");
}

std::vector<Tokens> tokens_of(const GgufWriter& writer, const std::vector<std::string>& texts) {
  const auto tokenizer = load_unigram(writer);
  if (!tokenizer.ok()) {
    ADD_FAILURE() << tokenizer.error().message();
    return {};
  }
  std::vector<Tokens> tokens;
  for (const std::string& text : texts) tokens.push_back(encode(**tokenizer, text));
  return tokens;
}

const std::vector<std::string> kUnigramTexts = {"ab",   "  a  b ", "ab ab",   "accb",
                                                "xyab", "a<sep>b", "",        "a</s>b<unk>",
                                                " a",   "aab",     "\u2581a", "a\u2581 "};

TEST(GgufUnigram, SpacesAreLeftAsTheyAre) {
  const std::vector<Tokens> expected = {
      {6}, {3, 4, 3, 3, 5, 3}, {6, 4, 5}, {17, 10, 5}, {2, 6}, {17, 9, 5},
      {},  {17, 1, 5, 2},      {4},       {17, 6},     {4},    {17, 3, 3}};
  EXPECT_EQ(tokens_of(unigram_writer(), kUnigramTexts), expected);
  EXPECT_EQ(tokens_of(with_spaces(unigram_writer(), false, false), kUnigramTexts), expected);
}

TEST(GgufUnigram, OneSpaceFirst) {
  const std::vector<Tokens> expected = {
      {4, 5}, {3, 3, 4, 3, 3, 5, 3}, {4, 5, 4, 5}, {4, 10, 5}, {3, 2, 6}, {4, 9, 3, 5},
      {},     {4, 1, 3, 5, 2},       {3, 4},       {4, 6},     {3, 4},    {4, 3, 3}};
  EXPECT_EQ(tokens_of(with_spaces(unigram_writer(), true, false), kUnigramTexts), expected);
}

TEST(GgufUnigram, FewerSpaces) {
  const std::vector<Tokens> expected = {{4, 5},    {4, 3, 5},    {4, 5, 4, 5}, {4, 10, 5},
                                        {3, 2, 6}, {4, 9, 3, 5}, {},           {4, 1, 3, 5, 2},
                                        {4},       {4, 6},       {3, 4},       {4, 3}};
  EXPECT_EQ(tokens_of(with_spaces(unigram_writer(), true, true), kUnigramTexts), expected);
  EXPECT_EQ(tokens_of(with_spaces(unigram_writer(), true, true), {"   "}),
            (std::vector<Tokens>{{}}));
}

TEST(GgufUnigram, ACharacterMap) {
  GgufWriter writer = with_spaces(unigram_writer(), true, true);
  writer.numbers("tokenizer.ggml.precompiled_charsmap", GgufType::kUint8, character_map_bytes());
  EXPECT_EQ(tokens_of(writer,
                      {"Qb", "\u2460", "e\u0301", "\uFF76\uFF9E", "a\r\nb", "\u2460\u0301\u0302"}),
            (std::vector<Tokens>{{3, 11, 5}, {3, 12}, {3, 13}, {3, 15, 2}, {4, 3, 5}, {3, 12, 2}}));
}

// SentencePiece takes the longest text of the map, and loses nothing of a cluster.
TEST(GgufUnigram, TheLongestTextOfTheMap) {
  const std::vector<uint8_t> bytes = character_map_bytes();
  const CharacterMap map(std::string(bytes.begin(), bytes.end()));
  const auto mapped = [&](std::string_view text) { return map.apply_longest(text, 64).value(); };
  EXPECT_EQ(mapped("\u2460\u0301b"), "1\u0301b");
  EXPECT_EQ(mapped("e\u0301\u0301\u0301"), "\u00E9\u0301\u0301");
  EXPECT_EQ(mapped("Quiz \U0001F999"), "quiz \U0001F999");
  EXPECT_EQ(map.apply_longest("\u3300", 12), "\u30A2\u30D1\u30FC\u30C8");
  EXPECT_EQ(map.apply_longest("\u3300", 11), std::nullopt);
}

TEST(GgufUnigram, TokensAroundATextAndItsBytes) {
  const auto loaded = load_unigram(with_spaces(unigram_writer(), true, true));
  ASSERT_TRUE(loaded.ok()) << loaded.error().message();
  const Tokenizer& tokenizer = **loaded;
  EXPECT_EQ(encode(tokenizer, "ab", true), (Tokens{4, 5, 1}));  // by default </s> behind it
  ASSERT_EQ(tokenizer.end_tokens().size(), 1u);
  EXPECT_EQ(tokenizer.end_tokens()[0], 1);
  EXPECT_FALSE(tokenizer.bos().has_value());
  EXPECT_EQ(decode(tokenizer, Tokens{4, 9, 7, 1}, true), "a<sep> ab");
  GgufWriter without = unigram_writer();
  without.boolean("tokenizer.ggml.add_eos_token", false);
  EXPECT_EQ(encode(**load_unigram(without), "b", true), (Tokens{5}));
}

TEST(GgufUnigram, BadFiles) {
  const auto expect_refused = [](const GgufWriter& writer, ErrorCode code, std::string_view part) {
    const auto loaded = load_unigram(writer);
    ASSERT_FALSE(loaded.ok()) << part;
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message();
    EXPECT_NE(loaded.error().message().find(part), std::string::npos) << loaded.error().message();
  };
  GgufWriter writer = unigram_writer();
  writer.numbers("tokenizer.ggml.precompiled_charsmap", GgufType::kUint8,
                 std::vector<uint8_t>{1, 2, 3});
  expect_refused(writer, ErrorCode::kBadFile, "expected a character map of SentencePiece");
  std::vector<UnigramPiece> pieces = unigram_pieces();
  pieces[6].text = "b";
  expect_refused(unigram_writer(pieces), ErrorCode::kBadFile,
                 "token 6 is 'b', expected each token once");
  pieces[6].text = std::string(513, 'x');
  expect_refused(unigram_writer(pieces), ErrorCode::kUnsupported, "token 6 has 513 bytes");
  pieces = unigram_pieces();
  pieces[6].score = std::numeric_limits<float>::infinity();
  expect_refused(unigram_writer(pieces), ErrorCode::kBadFile, "token 6 has score inf");
}

}  // namespace
}  // namespace pando::testing
