// Merging by scores against the SentencePiece library, on random strings.
#include <sentencepiece_processor.h>

#include <cstdlib>

#include "text_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

uint64_t n_strings() { return std::getenv("PANDO_SLOW_TESTS") != nullptr ? 100'000 : 10'000; }

void expect_library_ids(const std::filesystem::path& model, uint64_t n) {
  sentencepiece::SentencePieceProcessor library;
  ASSERT_TRUE(library.Load(model.string()).ok());
  const TempDirectory directory;
  directory.write("tokenizer.model", *read_text_file(model));
  const auto tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  UnicodeStrings strings(PANDO_SOURCE_DIR "/tests/text/data/assigned_ranges.txt");
  std::vector<int> expected;
  for (uint64_t i = 0; i < n; ++i) {
    // Also with marks of spaces in the text, and spaces at its ends.
    std::string text = strings.string(i);
    if (i % 4 == 1) text = "  " + text + " \u2581 ";
    if (i % 4 == 2) text = "\u2581" + text + "  x \u2581\u2581";
    ASSERT_TRUE(library.Encode(text, &expected).ok());
    ASSERT_EQ(encode(*tokenizer, text), expected) << "string " << i << ": " << text;
  }
}

TEST(SpmAgreement, Llama2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_library_ids(shared_tokenizers() / "llama-2" / "tokenizer.model", n_strings());
}

// Characters without bytes as a fallback, and spaces removed.
TEST(SpmAgreement, FewPieces) {
  PANDO_NEED_SHARED_TOKENIZERS();
  const auto model = std::filesystem::path(PANDO_SHARED_DATA) / "weights" / "tok105.model";
  expect_library_ids(model, n_strings() / 5);
}

}  // namespace
}  // namespace pando::testing
