// Unigram models of tokenizer.json. The expected tokens are those of the library `tokenizers`.
#include "text/stream_decoder.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

using Tokens = std::vector<Token>;
using Pieces = std::vector<std::pair<std::string, double>>;

Json unigram_json(const Pieces& vocab, const Json& unknown = 0) {
  return {{"added_tokens", Json::array()},
          {"model", {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocab}}}};
}

// `vocab` with a token for each byte behind it.
Pieces with_bytes(Pieces vocab, int left_out = -1) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte != left_out) vocab.emplace_back(fmt::format("<0x{:02X}>", byte), -30);
  }
  return vocab;
}

Json metaspace() {
  return {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}};
}

void expect_unigram_refused(const Json& document, ErrorCode code, const std::string& part) {
  const TempDirectory directory;
  directory.write_json("tokenizer.json", document);
  const auto loaded = Tokenizer::load(directory.path());
  ASSERT_FALSE(loaded.ok()) << part;
  EXPECT_EQ(loaded.error().code, code) << loaded.error().message();
  EXPECT_NE(loaded.error().message().find(part), std::string::npos) << loaded.error().message();
}

TEST(Unigram, TheHighestSumOfScores) {
  const auto tokenizer = load_json(
      unigram_json({{"<unk>", 0}, {"a", -1}, {"b", -1.5}, {"ab", -2.4}, {"abc", -9}, {"c", -2}}));
  EXPECT_EQ(encode(*tokenizer, "ab"), (Tokens{3}));
  EXPECT_EQ(encode(*tokenizer, "abc"), (Tokens{3, 5}));
  EXPECT_EQ(encode(*tokenizer, "cab"), (Tokens{5, 3}));
  EXPECT_EQ(encode(*tokenizer, "xabyyc"), (Tokens{0, 3, 0, 5}));
  EXPECT_EQ(encode(*tokenizer, ""), (Tokens{}));
}

TEST(Unigram, OfEqualSumsTheLongestLastPiece) {
  const auto tokenizer = load_json(
      unigram_json({{"<unk>", 0}, {"a", -1}, {"aa", -2}, {"aaa", -3}, {"b", -4}, {"ab", -5}}));
  EXPECT_EQ(encode(*tokenizer, "aaa"), (Tokens{3}));
  EXPECT_EQ(encode(*tokenizer, "aaaa"), (Tokens{1, 3}));
  EXPECT_EQ(encode(*tokenizer, "aab"), (Tokens{1, 5}));
}

TEST(Unigram, AnUnknownCharacterScoresTenBelowTheLowest) {
  Pieces vocab = {{"<unk>", 0}, {"a", 9}, {"xa", -1}};  // an unknown x: -11, with a: -2
  EXPECT_EQ(encode(*load_json(unigram_json(vocab)), "xa"), (Tokens{2}));
  vocab[1].second = 11;  // 0
  EXPECT_EQ(encode(*load_json(unigram_json(vocab)), "xa"), (Tokens{0, 1}));
}

TEST(Unigram, UnknownCharactersSideBySideAreOne) {
  const auto tokenizer = load_json(unigram_json({{"<unk>", -5}, {"xy", -5}, {"y", -2}}));
  EXPECT_EQ(encode(*tokenizer, "xyy"), (Tokens{1, 2}));
  EXPECT_EQ(encode(*tokenizer, "zxyz"), (Tokens{0, 1, 0}));
  EXPECT_EQ(encode(*tokenizer, "zz"), (Tokens{0}));
  const auto written = load_json(unigram_json({{"<unk>", 0}, {"a", -1}}));
  EXPECT_EQ(encode(*written, "a<unk>a"), (Tokens{1, 0, 1}));
  EXPECT_EQ(encode(*written, "<unk>x"), (Tokens{0}));
}

TEST(Unigram, TogetherTheyMayBeAPiece) {
  const auto tokenizer =
      load_json(unigram_json({{"<unk>", 30}, {"xy", 30}, {"xyz", 30}, {"a", 30}}));
  EXPECT_EQ(encode(*tokenizer, "xy"), (Tokens{1}));
  EXPECT_EQ(encode(*tokenizer, "axyza"), (Tokens{3, 2, 3}));
  EXPECT_EQ(encode(*tokenizer, "yx"), (Tokens{0}));
  EXPECT_EQ(encode(*tokenizer, "xyxy"), (Tokens{0}));
}

TEST(Unigram, ByteFallback) {
  Json document = unigram_json(with_bytes({{"<unk>", 0}, {"a", -1}}));
  document["model"]["byte_fallback"] = true;
  document["decoder"] = {{"type", "Sequence"},
                         {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}};
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "a\u00E9b"), (Tokens{1, 197, 171, 100}));
  EXPECT_EQ(decode(*tokenizer, Tokens{1, 197, 171, 100}, true), "a\u00E9b");
  document["model"]["vocab"] = with_bytes({{"<unk>", 0}, {"a", -1}}, 0xA9);
  const auto lacking = load_json(document);
  EXPECT_EQ(encode(*lacking, "a\u00EAa"), (Tokens{1, 196, 171, 1}));
  EXPECT_EQ(encode(*lacking, "a\u00EA\u00E9a"), (Tokens{1, 0, 1}));  // all bytes or none
}

TEST(Unigram, WithoutAnUnknownTokenCharactersAreDropped) {
  const auto tokenizer = load_json(unigram_json({{"a", -1}, {"b", -2}}, nullptr));
  EXPECT_EQ(encode(*tokenizer, "ab"), (Tokens{0, 1}));
  EXPECT_EQ(encode(*tokenizer, "axxb"), (Tokens{0, 1}));
  EXPECT_EQ(encode(*tokenizer, "x"), (Tokens{}));
  Json document = unigram_json(with_bytes({{"a", -1}}), nullptr);
  document["model"]["byte_fallback"] = true;
  EXPECT_EQ(encode(*load_json(document), "axa"), (Tokens{0, 1 + 'x', 0}));
}

TEST(Unigram, AWarningIfCharactersAreDropped) {
  const auto warnings_of = [](const Json& document) {
    const TempDirectory directory;
    directory.write_json("tokenizer.json", document);
    const auto tokenizer = load_tokenizer(directory.path());
    std::vector<std::string> warnings(tokenizer->warnings().begin(), tokenizer->warnings().end());
    const std::string file = "'" + (directory.path() / "tokenizer.json").string() + "'";
    for (std::string& warning : warnings)
      if (warning.starts_with(file)) warning.replace(0, file.size(), "FILE");
    return warnings;
  };
  const std::vector<std::string> none,
      dropped = {"FILE: 'model.unk_id' is missing; characters without a piece are dropped"};
  EXPECT_EQ(warnings_of(unigram_json({{"<unk>", 0}, {"a", -1}})), none);
  EXPECT_EQ(warnings_of(unigram_json({{"a", -1}}, nullptr)), dropped);
  Json document = unigram_json(with_bytes({{"a", -1}}), nullptr);
  EXPECT_EQ(warnings_of(document), dropped);
  document["model"]["byte_fallback"] = true;
  EXPECT_EQ(warnings_of(document), none);
  document["model"]["vocab"] = with_bytes({{"a", -1}}, 0xA9);
  EXPECT_EQ(warnings_of(document), dropped);

  Pieces alphabet;
  for (int byte = 0; byte < 256; ++byte)
    alphabet.emplace_back(byte_level_character(static_cast<unsigned char>(byte)), -1);
  document = unigram_json(alphabet, nullptr);
  document["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  document["decoder"] = {{"type", "ByteLevel"}};
  EXPECT_EQ(warnings_of(document), none);
  alphabet.pop_back();
  document["model"]["vocab"] = alphabet;
  EXPECT_EQ(warnings_of(document), dropped);
}

TEST(Unigram, Metaspace) {
  Json document = unigram_json({{"<unk>", 0},
                                {"\u2581", -3},
                                {"\u2581a", -2},
                                {"a", -2.5},
                                {"b", -3},
                                {"\u2581\u2581", -4}});
  document["pre_tokenizer"] = document["decoder"] = metaspace();
  document["added_tokens"] = Json::array({added_token(0, "<unk>")});
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "a b"), (Tokens{2, 1, 4}));
  EXPECT_EQ(encode(*tokenizer, "ab a"), (Tokens{2, 4, 2}));
  EXPECT_EQ(encode(*tokenizer, "a  b"), (Tokens{2, 1, 1, 4}));
  EXPECT_EQ(decode(*tokenizer, Tokens{2, 5, 4}, true), "a  b");
  EXPECT_EQ(decode(*tokenizer, Tokens{0, 4}, false), "<unk>b");
  EXPECT_EQ(decode(*tokenizer, Tokens{0, 4}, true), "b");
}

// As llm-jp writes it: an expression puts the mark in front, another takes the space off again.
TEST(Unigram, SpacesByExpressions) {
  const auto replace = [](const char* from, const char* to) -> Json {
    return {{"type", "Replace"}, {"pattern", {{"Regex", from}}}, {"content", to}};
  };
  Json document = unigram_json({{"<unk>", 0},
                                {"\u2581", -3},
                                {"\u2581a", -2},
                                {"a", -2.5},
                                {"\n", -4},
                                {"\u2581\u2581", -4}});
  document["added_tokens"] = Json::array({added_token(0, "<unk>")});
  document["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", Json::array({replace("(?<!\\n)^", "\u2581"), replace(" ", "\u2581")})}};
  Json steps = Json::array({{{"type", "ByteFallback"}}, replace("\u2581", " ")});
  steps.push_back({{"type", "Fuse"}});
  steps.push_back(replace("(?<!\\n)^ ", ""));
  document["decoder"] = {{"type", "Sequence"}, {"decoders", steps}};
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "a"), (Tokens{2}));
  EXPECT_EQ(encode(*tokenizer, "a a\na"), (Tokens{2, 2, 4, 3}));
  EXPECT_EQ(encode(*tokenizer, " a"), (Tokens{1, 2}));
  EXPECT_EQ(encode(*tokenizer, "<unk>a"), (Tokens{0, 2}));
  EXPECT_EQ(decode(*tokenizer, Tokens{2, 2, 4, 2}, true), "a a\n a");
  EXPECT_EQ(decode(*tokenizer, Tokens{5, 3}, true), " a");
  EXPECT_EQ(decode(*tokenizer, Tokens{4, 2}, true), "\n a");
  EXPECT_EQ(decode(*tokenizer, Tokens{0, 2}, false), "<unk> a");

  steps.back() = replace("^ ", "");  // of every line: not in a stream
  document["decoder"]["decoders"] = steps;
  expect_unigram_refused(document, ErrorCode::kUnsupported,
                         "'decoder.decoders[3].pattern' is an object; supported: a pattern that is "
                         "a text");
}

TEST(Unigram, ByteLevel) {
  Json document = unigram_json({{"<unk>", 0},
                                {"a", -1},
                                {"\u0120", -2},
                                {"\u0120a", -2.5},
                                {"\u00C3", -3},
                                {"\u00C3\u00A9", -4}});
  document["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  document["decoder"] = {{"type", "ByteLevel"}};
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "a a"), (Tokens{1, 3}));
  EXPECT_EQ(encode(*tokenizer, "a\u00E8"), (Tokens{1, 4, 0}));
  EXPECT_EQ(encode(*tokenizer, "aa \u00E9"), (Tokens{1, 1, 2, 5}));
  StreamDecoder decoder(*tokenizer, true);
  EXPECT_EQ(decoder.push(4), "");  // the first byte of a character
  EXPECT_EQ(decoder.push(1), "\uFFFDa");
  EXPECT_EQ(decoder.push(5), "\u00E9");
  document["model"]["byte_fallback"] = true;
  expect_unigram_refused(document, ErrorCode::kUnsupported, "'model.byte_fallback' is true");
}

// An old file, and a piece without text.
TEST(Unigram, WithoutAType) {
  Json document = unigram_json({{"<unk>", 0}, {"", -1}, {"a", -2}});
  document["model"].erase("type");
  const auto tokenizer = load_json(document);
  EXPECT_EQ(encode(*tokenizer, "aab"), (Tokens{2, 2, 0}));
  EXPECT_EQ(tokenizer->vocab_size(), 3);
}

// A search through all pairs of places would take 2^33 steps, and this test much longer.
TEST(Unigram, ALongWord) {
  const auto tokenizer =
      load_json(unigram_json({{"<unk>", 0}, {"a", -1}, {std::string(512, 'a'), -2}}));
  const Tokens tokens = encode(*tokenizer, std::string(1 << 17, 'a') + "x");
  ASSERT_EQ(tokens.size(), 257u);
  EXPECT_EQ(tokens.front(), 2);
  EXPECT_EQ(tokens.back(), 0);
}

TEST(Unigram, WrongFiles) {
  const Json good = unigram_json({{"<unk>", 0}, {"a", -1}});
  Json bad = good;
  bad["model"]["unk_id"] = 2;
  expect_unigram_refused(bad, ErrorCode::kBadFile,
                         "'model.unk_id' is 2, expected an id from 0 to 1");
  bad["model"]["unk_id"] = -1;
  expect_unigram_refused(bad, ErrorCode::kBadFile, "'model.unk_id' is -1");
  bad = good, bad["model"]["vocab"] = Json::array();
  expect_unigram_refused(bad, ErrorCode::kBadFile, "1 to 16777215 pieces");
  bad = good, bad["model"].erase("vocab");
  expect_unigram_refused(bad, ErrorCode::kBadFile, "'model.vocab' is missing");
  bad = good, bad["model"]["vocab"].push_back(Json::array({"a", -2}));
  expect_unigram_refused(bad, ErrorCode::kBadFile, "each piece once");
  for (const char* text :
       {R"("b")", R"(["b"])", R"(["b", "c"])", R"([1, -1.5])", R"(["b", -1, 0])"}) {
    const Json piece = Json::parse(text);
    bad = good, bad["model"]["vocab"].push_back(piece);
    expect_unigram_refused(bad, ErrorCode::kBadFile, "'model.vocab[2]'");
  }
  bad = good, bad["model"]["vocab"].push_back(Json::array({std::string(513, 'a'), -1}));
  expect_unigram_refused(bad, ErrorCode::kUnsupported,
                         "'model.vocab[2]' has 513 bytes, supported: up to 512");
  bad = good, bad["model"]["byte_fallback"] = 1;
  expect_unigram_refused(bad, ErrorCode::kBadFile, "'model.byte_fallback'");
}

}  // namespace
}  // namespace pando::testing
