// A text that begins like an earlier one has the tokens that it has by itself.
#include "text/text_memo.h"

#include <thread>

#include "memo_testing.h"
#include "text/byte_tokenizer.h"

namespace pando::testing {
namespace {

TEST(TextMemo, BytesAsTokens) {
  const TempDirectory directory;
  ASSERT_TRUE(write_byte_tokenizer(directory.path()).ok());
  const auto tokenizer = load_tokenizer(directory.path());
  EXPECT_GT(expect_same_tokens("bytes", *tokenizer, 1000), 0u);
}

// Added tokens that could lie over a cut, begin or end at it.
TEST(TextMemo, AddedTokensAtCuts) {
  const std::vector<std::string> contents = {"a b", "the", " of", "e ",     "ox",     " ",
                                             "  ",  "<s>", "ing", "\u4E2D", "\u3002", "t\n"};
  for (uint32_t seed = 0; seed < (is_slow() ? 3000u : 150u); ++seed) {
    Choices choices(seed);
    Json document = byte_level_json({"th", "\u0120t"}, {"t h", "\u0120 t"});
    switch (choices.below(4)) {
      case 0:
        document["normalizer"] = {{"type", "Prepend"}, {"prepend", "\u2581"}};
        break;
      case 1:
        document["normalizer"] = {{"type", "Lowercase"}};
        break;
      case 2:
        document["normalizer"] = {
            {"type", "Sequence"},
            {"normalizers",
             {{{"type", "Prepend"}, {"prepend", "\u2581"}},
              {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}};
        document["pre_tokenizer"] = {{"type", "Metaspace"},
                                     {"replacement", "\u2581"},
                                     {"prepend_scheme", choices.below(2) ? "first" : "always"},
                                     {"split", choices.below(2) == 0}};
        document["decoder"] = nullptr;
        break;
      default:
        break;
    }
    std::vector<std::string> pieces;
    for (int i = 0; i < 3; ++i) {
      const std::string& content = contents[choices.below(contents.size())];
      if (std::find(pieces.begin(), pieces.end(), content) != pieces.end()) continue;
      pieces.push_back(content);
      Json token = added_token(300 + i, content, choices.below(2) == 0);
      for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"})
        token[flag] = choices.below(3) == 0;
      document["added_tokens"].push_back(token);
    }
    const auto tokenizer = load_json(document);
    if (tokenizer == nullptr) continue;
    expect_same_tokens(std::to_string(seed), *tokenizer, is_slow() ? 500 : 60, pieces);
  }
}

TEST(TextMemo, PublishedVocabularies) {
  PANDO_NEED_SHARED_TOKENIZERS();
  std::vector<std::filesystem::path> paths;
  for (const char* name : {"gpt-2", "qwen2.5", "llama-3", "llama-2"})
    paths.push_back(shared_tokenizers() / name);
  for (const auto& file : std::filesystem::directory_iterator(shared_tokenizers() / "llama.cpp"))
    if (file.path().extension() == ".gguf") paths.push_back(file.path());
  paths.push_back(shared_tokenizers().parent_path() / "weights" / "tok105.model");
  for (const char* name : {"smollm2", "gemma3-270m", "qwen2.5-coder-0.5b"}) {
    const std::filesystem::path model = std::filesystem::path(PANDO_SOURCE_DIR) / "build" /
                                        "published" / (name + std::string(".gguf"));
    if (is_slow() && std::filesystem::exists(model)) paths.push_back(model);
  }
  for (const auto& path : paths) {
    const auto tokenizer = load_tokenizer(path);
    if (tokenizer == nullptr) continue;
    const size_t remembered =
        expect_same_tokens(path.filename().string(), *tokenizer, is_slow() ? 20'000 : 300);
    EXPECT_EQ(remembered > 0, path.filename() != "tok105.model") << path;  // removes spaces
  }
}

TEST(TextMemo, ManyThreads) {
  const auto tokenizer = load_json(byte_level_json({"th", "\u0120t"}, {"t h", "\u0120 t"}));
  AwkwardTexts source(7, *tokenizer);
  std::vector<std::string> texts;
  std::vector<std::vector<Token>> expected;
  tokenizer->set_memo_limits(no_memo());
  for (int i = 0; i < 200; ++i) {
    texts.push_back(source.next());
    expected.push_back(encode(*tokenizer, texts.back()));
  }
  tokenizer->set_memo_limits(eager_limits());
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      Choices choices(seed);
      for (int i = 0; i < (is_slow() ? 100'000 : 1000); ++i) {
        const size_t n = choices.below(texts.size());
        const auto tokens = tokenizer->encode(texts[n], false);
        if (!tokens.ok() || *tokens != expected[n]) ADD_FAILURE() << texts[n];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

std::string numbered_words(size_t n_bytes, const std::string& word = "word") {
  std::string text;
  for (int i = 0; text.size() < n_bytes; ++i) text += word + " " + std::to_string(i) + ", ";
  return text;
}

TEST(TextMemo, OnlyTheRestIsEncoded) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  const std::string document = numbered_words(100'000);
  encode(*tokenizer, document + "Who?");
  const size_t first = tokenizer->n_bytes_encoded();
  EXPECT_EQ(first, document.size() + 4);
  for (const char* question : {"Why did that happen?", "Where?", "Who?"})
    encode(*tokenizer, document + question);
  EXPECT_LT(tokenizer->n_bytes_encoded() - first, 3 * 400u);
}

// Each turn of a conversation takes the place of the one before it.
TEST(TextMemo, AConversationGoesOn) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  tokenizer->set_memo_limits({.most_texts = 1});
  std::string text = numbered_words(5000);
  for (int turn = 0; turn < 100; ++turn) {
    const size_t before = tokenizer->n_bytes_encoded();
    encode(*tokenizer, text);
    EXPECT_LT(tokenizer->n_bytes_encoded() - before, turn == 0 ? 6000u : 1000u);
    text += numbered_words(500, "turn");
  }
}

TEST(TextMemo, ShortTextsAreNotRemembered) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  const std::string text = numbered_words(2000);
  for (int i = 0; i < 3; ++i) encode(*tokenizer, text);
  EXPECT_EQ(tokenizer->n_bytes_encoded(), 3 * text.size());
}

TEST(TextMemo, TheOldestTextsGo) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  const std::string a = numbered_words(10'000, "a"), b = numbered_words(10'000, "b"),
                    c = numbered_words(10'000, "c");
  const auto n_encoded = [&](const std::string& text) {
    const size_t before = tokenizer->n_bytes_encoded();
    encode(*tokenizer, text);
    return tokenizer->n_bytes_encoded() - before;
  };
  for (const TextMemoLimits& limits :
       {TextMemoLimits{.most_texts = 2}, TextMemoLimits{.most_bytes = 120'000}}) {
    tokenizer->set_memo_limits(limits);
    for (const std::string& text : {a, b}) n_encoded(text);
    EXPECT_LT(n_encoded(a), 400u);
    EXPECT_EQ(n_encoded(c), c.size());  // in place of b
    EXPECT_LT(n_encoded(a), 400u);
    EXPECT_EQ(n_encoded(b), b.size());
  }
  tokenizer->set_memo_limits({.most_bytes = 40'000});  // one text needs more
  EXPECT_EQ(n_encoded(numbered_words(10'000, "d")), numbered_words(10'000, "d").size());
  EXPECT_EQ(n_encoded(numbered_words(10'000, "d")), numbered_words(10'000, "d").size());
}

// The place of a byte that is not UTF-8 counts from the text's begin, wherever encoding begins.
TEST(TextMemo, BadBytesBehindAKnownBeginning) {
  const auto tokenizer = load_json(byte_level_json({}, Json::array()));
  const std::string document = numbered_words(10'000);
  encode(*tokenizer, document);
  const auto tokens = tokenizer->encode(document + "\xFF", false);
  ASSERT_FALSE(tokens.ok());
  EXPECT_EQ(tokens.error().message(),
            "the text is not UTF-8 at byte " + std::to_string(document.size()));
}

}  // namespace
}  // namespace pando::testing
