// Byte-pair encoding over characters with bytes as a fallback, the tokenizer.json of Llama 2.
#include "llama2_testing.h"
#include "text/stream_decoder.h"

namespace pando::testing {
namespace {

TEST(ByteFallback, CharactersMergeAndOthersBecomeBytes) {
  const auto tokenizer =
      load_json(llama_json({kMark, "a", "b", "ab", "\u2581ab"}, {"a b", "\u2581 ab"}));
  EXPECT_EQ(encode(*tokenizer, "ab ab"), (std::vector<Token>{kMore + 4, kMore + 4}));
  EXPECT_EQ(encode(*tokenizer, "a\u00E9"),
            (std::vector<Token>{kMore, kMore + 1, kBytes + 0xC3, kBytes + 0xA9}));
  EXPECT_EQ(encode(*tokenizer, "a", true), (std::vector<Token>{1, kMore, kMore + 1}));
  EXPECT_EQ(encode(*tokenizer, ""), (std::vector<Token>{}));
}

TEST(ByteFallback, DecodingTakesTheLeadingSpaceOff) {
  const auto tokenizer = load_json(llama_json({kMark, "a"}, Json::array()));
  EXPECT_TRUE(tokenizer->strips_leading_space());
  for (const std::string text : {"a a", " a", "\u00E9 \U0001F600", "", "  "}) {
    const std::vector<Token> tokens = encode(*tokenizer, text, true);
    EXPECT_EQ(decode(*tokenizer, tokens, true), text);
  }
  StreamDecoder later(*tokenizer, false);
  EXPECT_EQ(later.push(kMore), " ");
}

TEST(ByteFallback, WithoutADecoderASpaceIsBetweenTokens) {
  Json document = llama_json({"a", "\u2581b"}, Json::array());
  document["model"]["vocab"]["c"] = kMore + 4;  // a hole before it
  document["decoder"] = nullptr;
  const auto tokenizer = load_json(document);
  const std::vector<Token> tokens = {1, kMore, kMore + 1, kMore + 2, kMore + 4, kBytes + 'x', 2};
  EXPECT_EQ(decode(*tokenizer, tokens, true), "a \u2581b c <0x78>");
  EXPECT_EQ(decode(*tokenizer, tokens, false), "<s> a \u2581b c <0x78> </s>");
  StreamDecoder later(*tokenizer, false);
  EXPECT_EQ(later.push(kMore), " a");
  document["decoder"] = {{"type", "Fuse"}};
  EXPECT_EQ(decode(*load_json(document), tokens, true), "a\u2581bc<0x78>");
}

TEST(ByteFallback, AddedTokensAreDecodedLikeOthers) {
  Json document = llama_json({kMark, "a"}, Json::array());
  document["added_tokens"].push_back(added_token(kMore + 2, "\u2581\u2581", false));
  document["added_tokens"].push_back(added_token(kMore + 3, "<\u2581>"));
  const auto tokenizer = load_json(document);
  const std::vector<Token> tokens = {kMore, kMore + 1, kMore + 2, kMore + 1, kMore + 3};
  EXPECT_EQ(decode(*tokenizer, tokens, true), "a  a");
  EXPECT_EQ(decode(*tokenizer, tokens, false), "a  a< >");
}

// A merge that crosses into a mark forbids cutting there; both ways give the definition's tokens.
TEST(ByteFallback, MergesAcrossSpacesAreKept) {
  const auto cut = load_json(llama_json({kMark, "a", "\u2581\u2581"}, {"\u2581 \u2581"}));
  EXPECT_EQ(encode(*cut, "a   a"),
            (std::vector<Token>{kMore, kMore + 1, kMore + 2, kMore, kMore + 1}));
  Json dropping = llama_json({kMark, "a", "\u2581\u2581"}, {"\u2581 \u2581"});
  dropping["model"]["byte_fallback"] = false;
  dropping["model"]["unk_token"] = nullptr;  // marks on both sides of a dropped one merge
  EXPECT_EQ(encode(*load_json(dropping), "a \u00E9 a"),
            (std::vector<Token>{kMore, kMore + 1, kMore + 2, kMore + 1}));
  const auto crossing = load_json(llama_json({kMark, "a", "a\u2581"}, {"a \u2581"}));
  EXPECT_EQ(encode(*crossing, "a a"), (std::vector<Token>{kMore, kMore + 2, kMore + 1}));
}

TEST(ByteFallback, UnknownCharactersFuse) {
  Json document = llama_json({kMark, "a"}, Json::array());
  document["model"]["byte_fallback"] = false;
  EXPECT_EQ(encode(*load_json(document), "a\u00E9\u00E9a"),
            (std::vector<Token>{kMore, kMore + 1, 0, kMore + 1}));
  document["model"]["fuse_unk"] = false;
  EXPECT_EQ(encode(*load_json(document), "a\u00E9\u00E9a"),
            (std::vector<Token>{kMore, kMore + 1, 0, 0, kMore + 1}));
  document["model"]["unk_token"] = nullptr;  // other characters are dropped
  EXPECT_EQ(encode(*load_json(document), "a\u00E9\u00E9a"),
            (std::vector<Token>{kMore, kMore + 1, kMore + 1}));
}

TEST(ByteFallback, Metaspace) {
  Json document = llama_json({kMark, "a", "\u2581a"}, {"\u2581 a"});
  document["normalizer"] = nullptr;
  Json& metaspace = document["pre_tokenizer"];
  metaspace = {
      {"type", "Metaspace"}, {"replacement", kMark}, {"prepend_scheme", "first"}, {"split", false}};
  EXPECT_EQ(encode(*load_json(document), "a a</s>a"),
            (std::vector<Token>{kMore + 2, kMore + 2, 2, kMore + 1}));
  metaspace["prepend_scheme"] = "always";
  EXPECT_EQ(encode(*load_json(document), " a</s>a"), (std::vector<Token>{kMore + 2, 2, kMore + 2}));
  metaspace["prepend_scheme"] = "never";
  EXPECT_EQ(encode(*load_json(document), "a a"), (std::vector<Token>{kMore + 1, kMore + 2}));
  metaspace["prepend_scheme"] = "sometimes";
  const TempDirectory directory;
  directory.write_json("tokenizer.json", document);
  EXPECT_FALSE(Tokenizer::load(directory.path()).ok());
}

TEST(ByteFallback, ByteTokensAreReadExactly) {
  EXPECT_EQ(byte_of_token_text("<0x0A>"), '\n');
  EXPECT_EQ(byte_of_token_text("<0xFF>"), '\xFF');
  for (const char* text : {"<0x0a>", "<0xA>", "<0xAG>", "0x0A", "<0x0A> ", ""}) {
    EXPECT_FALSE(byte_of_token_text(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace pando::testing
