// tekken.json. The expected tokens are those of mistral_common's Tekkenizer.
#include <fmt/format.h>

#include "text/chat/chat_template.h"
#include "text_testing.h"

namespace pando::testing {
namespace {

using Tokens = std::vector<Token>;

constexpr const char* kTekkenWords =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

// 22 special tokens, the bytes (22 to 277), "ab" 278, "bc" 279, "abc" 280, "xyz" 281. The file has
// one token more, which does not count.
Json tekken_json(const std::string& version = "v3") {
  const std::vector<std::string> more = {"ab", "bc", "abc", "xyz", "the last"};
  Json vocab = Json::array();
  for (int rank = 0; rank < 256 + static_cast<int>(more.size()); ++rank) {
    const std::string bytes =
        rank < 256 ? std::string(1, static_cast<char>(rank)) : more[rank - 256];
    vocab.push_back(
        {{"rank", rank}, {"token_bytes", to_base64(bytes)}, {"token_str", Json(nullptr)}});
  }
  return {{"config",
           {{"pattern", kTekkenWords},
            {"num_vocab_tokens", 261},
            {"default_vocab_size", 22 + 260},
            {"default_num_special_tokens", 22},
            {"version", version}}},
          {"vocab", std::move(vocab)}};
}

Json tekken_special(int rank, const std::string& text) {
  return {{"rank", rank}, {"token_str", text}, {"is_control", true}};
}

std::unique_ptr<Tokenizer> load_tekken(const Json& document) {
  const TempDirectory directory;
  directory.write_json("tekken.json", document);
  return load_tokenizer(directory.path());
}

TEST(Tekken, MergesByRankWithinWords) {
  const auto tokenizer = load_tekken(tekken_json());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "abc", true), (Tokens{1, 280}));
  EXPECT_EQ(encode(*tokenizer, "abcd bc"), (Tokens{280, 122, 54, 279}));
  EXPECT_EQ(encode(*tokenizer, "aBc xyz!"), (Tokens{119, 88, 121, 54, 142, 143, 144, 55}));
  EXPECT_EQ(encode(*tokenizer, "xyz\nxyz"), (Tokens{281, 32, 281}));
  EXPECT_EQ(encode(*tokenizer, "\u00E9"), (Tokens{22 + 0xC3, 22 + 0xA9}));
  EXPECT_EQ(tokenizer->vocab_size(), 282);
  EXPECT_EQ(tokenizer->token_bytes(280, true), "abc");
  EXPECT_EQ(tokenizer->token_bytes(22 + 0xFF, true), "\xFF");
  EXPECT_FALSE(tokenizer->strips_leading_space());
}

TEST(Tekken, HasNoChatTemplate) {
  const TempDirectory directory;
  directory.write_json("tekken.json", tekken_json());
  const auto tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  const auto chat = ChatTemplate::load(directory.path(), *tokenizer, "");
  ASSERT_FALSE(chat.ok());
  EXPECT_EQ(
      chat.error().message(),
      fmt::format("'{}' has no chat template, expected one there or the option 'chat_template'",
                  directory.path().string()));
}

// Mistral's library reads them as text; here all formats find special tokens in a text.
TEST(Tekken, SpecialTokens) {
  const auto tokenizer = load_tekken(tekken_json());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "[INST]ab[/INST]</s>", true), (Tokens{1, 3, 278, 4, 2}));
  EXPECT_EQ(encode(*tokenizer, "<s>ab", true), (Tokens{1, 278}));
  EXPECT_EQ(encode(*tokenizer, "[TOOL_CONTENT]<SPECIAL_20><SPECIAL_21>"), (Tokens{19, 20, 21}));
  EXPECT_EQ(tokenizer->token_bytes(9, false), "[TOOL_CALLS]");
  EXPECT_EQ(tokenizer->token_bytes(9, true), "");
  EXPECT_EQ(tokenizer->bos(), 1);
  ASSERT_EQ(tokenizer->end_tokens().size(), 1u);
  EXPECT_EQ(tokenizer->end_tokens()[0], 2);
}

TEST(Tekken, ListedSpecialTokens) {
  Json document = tekken_json("v13");
  document["special_tokens"] = {tekken_special(0, "<unk>"), tekken_special(1, "<s>"),
                                tekken_special(2, "</s>"), tekken_special(3, "[THINK]")};
  const auto tokenizer = load_tekken(document);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "[THINK]abc<SPECIAL_4>", true), (Tokens{1, 3, 280, 4}));
  EXPECT_EQ(encode(*tokenizer, "[INST]").size(), 6u);  // not listed
}

// Its bytes are found where a special token has the same text.
TEST(Tekken, ASpecialTokenMayBeTheTextOfAnother) {
  Json document = tekken_json("v11");
  document["special_tokens"] = {tekken_special(0, "<unk>"), tekken_special(1, "<s>"),
                                tekken_special(2, "</s>"), tekken_special(3, "abc")};
  const auto tokenizer = load_tekken(document);
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "abcd ab"), (Tokens{3, 122, 54, 278}));
  EXPECT_EQ(tokenizer->token_bytes(280, true), "abc");
}

TEST(Tekken, ByItselfAndBesideOthers) {
  const TempDirectory directory;
  directory.write_json("tekken_of_a_model.json", tekken_json());
  directory.write_json("generation_config.json", Json{{"eos_token_id", 5}});
  const auto alone = load_tokenizer(directory.path() / "tekken_of_a_model.json");
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(encode(*alone, "abc"), (Tokens{280}));
  EXPECT_EQ(alone->end_tokens()[0], 5);  // of the file beside it
  directory.write_json("tekken.json", tekken_json());
  directory.write_json("tokenizer.json", byte_level_json({}, Json::array()));
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "a"), (Tokens{97}));
  std::filesystem::remove(directory.path() / "tokenizer.json");
  EXPECT_EQ(encode(*load_tokenizer(directory.path()), "a"), (Tokens{119}));
}

TEST(Tekken, BadFiles) {
  const auto expect_refused = [](const Json& document, const char* part) {
    const TempDirectory directory;
    directory.write_json("tekken.json", document);
    const auto loaded = Tokenizer::load(directory.path());
    ASSERT_FALSE(loaded.ok()) << part;
    EXPECT_EQ(loaded.error().code, ErrorCode::kBadFile) << loaded.error().message();
    EXPECT_NE(loaded.error().message().find(part), std::string::npos) << loaded.error().message();
  };
  expect_refused(tekken_json("v11"),
                 "field 'special_tokens' is missing, expected an array, because 'config.version' "
                 "is 'v11'");
  const auto with = [&](const char* path, const Json& value) {
    Json document = tekken_json();
    document[Json::json_pointer(path)] = value;
    return document;
  };
  expect_refused(with("/config/default_vocab_size", 277),
                 "field 'config.default_vocab_size' is 277, expected a number from 278 to");
  expect_refused(with("/config/default_vocab_size", 284),
                 "field 'vocab' is an array of 261, expected at least 262 tokens");
  expect_refused(with("/config/default_num_special_tokens", 0),
                 "field 'config.default_num_special_tokens' is 0, expected a number from 1");
  expect_refused(with("/config/pattern", nullptr), "field 'config.pattern'");
  expect_refused(with("/vocab/7/rank", 8), "field 'vocab[7].rank' is 8, expected 7");
  expect_refused(with("/vocab/7/token_bytes", "CA=="),
                 "field 'vocab[7].token_bytes' is \"CA==\", expected the byte 7 in base64");
  expect_refused(with("/vocab/257/token_bytes", "*"), "expected 1 to 256 bytes in base64");
  expect_refused(with("/vocab/257/token_bytes", to_base64("ab")),
                 "the token of rank 257 appears twice");
  expect_refused(with("/special_tokens", Json::array({tekken_special(22, "<s>")})),
                 "field 'special_tokens[0].rank' is 22, expected an id below 22");
  expect_refused(with("/special_tokens", Json::array({tekken_special(0, "")})),
                 "expected at least one character");
}

}  // namespace
}  // namespace pando::testing
