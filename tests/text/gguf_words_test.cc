// The words that names in tokenizer.ggml.pre stand for, against the Python library `tokenizers`
// with the expressions that the models published: data/gguf_words.jsonl, hashed by
// tools/tokenizer_steps_golden.py.
#include "text/gguf_words.h"

#include <set>

#include "memo_testing.h"
#include "steps_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

TEST(GgufWords, EveryNameCutsAsPublished) {
  const std::vector<Json> cases = read_step_cases("gguf_words.jsonl");
  const auto hashes = read_step_hashes("gguf_words_hashes.txt");
  const std::vector<std::string> texts = step_texts();
  std::set<std::string_view> left;
  for (std::string_view name : gguf_word_names()) left.insert(name);
  EXPECT_GT(left.size(), 90u);
  size_t n_with_cuts = 0;
  for (const Json& word_case : cases) {
    for (const std::string name : word_case["names"]) {
      SCOPED_TRACE(name);
      EXPECT_EQ(left.erase(name), 1u);
      const TempDirectory directory;
      directory.write("model.gguf", gguf_of_case(word_case, name).bytes());
      const auto tokenizer = load_tokenizer(directory.path() / "model.gguf");
      if (tokenizer == nullptr) continue;
      IdHash hash;
      for (const std::string& text : texts) hash.add(encode(*tokenizer, text));
      EXPECT_EQ(hash.value(), hashes.at(word_case["name"]));
      n_with_cuts += expect_same_tokens(name, *tokenizer, is_slow() ? 20'000 : 40) > 0;
    }
  }
  EXPECT_GT(n_with_cuts, 80u);
  EXPECT_TRUE(left.empty()) << *left.begin();
}

// Digits in threes from the right, and text that would take the square of its length.
TEST(GgufWords, LongRunsTakeNoLongTime) {
  for (std::string_view name : gguf_word_names()) {
    const Result<GgufWords> words = gguf_words(name, "f");
    ASSERT_TRUE(words.ok()) << words.error().message();
    for (const std::string& part : {std::string("1"), std::string(" "), std::string("a"),
                                    std::string("A"), std::string("\n"), std::string("\u00E9")}) {
      for (const char* end : {"", "x", "\u4E00"}) {
        std::string text;
        for (int i = 0; i < 100'000; ++i) text += part;
        text += end;
        size_t n = 0;
        const Status done = words->pre_tokenizer.split(
            text, true, [&](std::string_view word) { n += word.size(); });
        EXPECT_TRUE(done.ok());
        EXPECT_EQ(n, text.size()) << name;
      }
    }
  }
}

}  // namespace
}  // namespace pando::testing
