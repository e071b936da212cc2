// Tiktoken vocabularies: the number of tokens says which one it is.
#include "text_testing.h"

namespace pando::testing {
namespace {

// The bytes, `more`, and fillers up to `n` tokens.
std::string vocabulary(size_t n, const std::vector<std::string>& more) {
  std::string lines;
  for (size_t rank = 0; rank < n; ++rank) {
    const std::string bytes = rank < 256                 ? std::string(1, static_cast<char>(rank))
                              : rank < 256 + more.size() ? more[rank - 256]
                                                         : fmt::format("\x01{}", rank);
    lines += fmt::format("{} {}\n", to_base64(bytes), rank);
  }
  return lines;
}

TEST(Tiktoken, Cl100k) {
  const TempDirectory directory;
  directory.write("tokenizer.model", vocabulary(100'256, {"bc", "ab", "abc", "12", "xyz"}));
  const auto tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  // The pair whose result has the lowest rank goes first; a word that is a token is that token,
  // though nothing merges to it.
  EXPECT_EQ(encode(*tokenizer, "abc abcd xyz 1234", true),
            (std::vector<Token>{258, ' ', 258, 'd', ' ', 'x', 'y', 'z', ' ', 259, '3', '4'}));
  EXPECT_EQ(encode(*tokenizer, "xyz"), (std::vector<Token>{260}));
  EXPECT_EQ(encode(*tokenizer, "<|endoftext|><|endofprompt|>"),
            (std::vector<Token>{100257, 100276}));
  ASSERT_EQ(tokenizer->end_tokens().size(), 1u);
  EXPECT_EQ(tokenizer->end_tokens()[0], 100257);
  EXPECT_FALSE(tokenizer->bos().has_value());
  EXPECT_EQ(tokenizer->token_bytes(0xFF, false), "\xFF");
  EXPECT_EQ(tokenizer->token_bytes(100256, false), "");  // no token has this id
}

TEST(Tiktoken, Llama3AndItsConfiguration) {
  const TempDirectory directory;
  directory.write("tokenizer.model", vocabulary(128'000, {}));
  auto tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "<|eot_id|><|start_header_id|>a", true),
            (std::vector<Token>{128000, 128009, 128006, 'a'}));
  EXPECT_EQ(tokenizer->token_bytes(128002, false), "<|reserved_special_token_0|>");
  EXPECT_EQ(tokenizer->token_bytes(128255, false), "<|reserved_special_token_250|>");
  EXPECT_EQ(tokenizer->vocab_size(), 128256);

  const Json begin = {{"content", "<begin>"}, {"special", true}};
  const Json end = {{"content", "<end>"}, {"special", true}};
  directory.write_json("tokenizer_config.json",
                       Json{{"added_tokens_decoder", {{"128000", begin}, {"128001", end}}},
                            {"bos_token", "<begin>"},
                            {"eos_token", "<end>"},
                            {"add_bos_token", true},
                            {"add_eos_token", true}});
  tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "a<end>", true), (std::vector<Token>{128000, 'a', 128001, 128001}));
  EXPECT_EQ(tokenizer->vocab_size(), 128002);
}

TEST(Tiktoken, BadFiles) {
  const auto expect_refused = [](const std::string& content, ErrorCode code, const char* part) {
    const TempDirectory directory;
    directory.write("tokenizer.model", content);
    const auto loaded = Tokenizer::load(directory.path());
    ASSERT_FALSE(loaded.ok()) << part;
    EXPECT_EQ(loaded.error().code, code);
    EXPECT_NE(loaded.error().message().find(part), std::string::npos) << loaded.error().message();
  };
  expect_refused(vocabulary(300, {}), ErrorCode::kUnsupported, "of 300 tokens; supported");
  expect_refused("IQ== 0\nIg== 2\n", ErrorCode::kBadFile, "line 2 is 'Ig== 2'");
  expect_refused("IQ== 0\nI*== 1\n", ErrorCode::kBadFile, "line 2");
  expect_refused("IQ== 0\nIQ 1\n", ErrorCode::kBadFile, "line 2");
  expect_refused("IQ== 0\nIQ== x\n", ErrorCode::kBadFile, "line 2");
  expect_refused("IQ== 0\nIQ==\n", ErrorCode::kBadFile, "line 2");
}

}  // namespace
}  // namespace pando::testing
