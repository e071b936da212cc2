// Agreement with the Python library `tokenizers` on 100,000 random strings a tokenizer. The
// reference is written by tools/tokenizer_golden.py.
#include <map>

#include "llama3_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

constexpr uint64_t kGroup = 1000;  // strings a hash

const std::string kData = PANDO_SOURCE_DIR "/tests/text/data/";

// First string of a group -> hash.
std::map<uint64_t, uint64_t> read_hashes(const std::string& tokenizer) {
  std::map<uint64_t, uint64_t> hashes;
  std::ifstream file(kData + "unicode_hashes.txt");
  std::string name, hash;
  uint64_t start = 0;
  while (file >> name >> start >> hash) {
    if (name == tokenizer) hashes[start] = std::stoull(hash, nullptr, 16);
  }
  return hashes;
}

void expect_agreement(const std::filesystem::path& directory, const std::string& name) {
  const auto tokenizer = load_tokenizer(directory);
  ASSERT_NE(tokenizer, nullptr);
  UnicodeStrings strings(kData + "assigned_ranges.txt");
  const auto hashes = read_hashes(name);
  ASSERT_EQ(hashes.size(), 100u);
  for (const auto& [start, expected] : hashes) {
    IdHash hash;
    for (uint64_t i = start; i < start + kGroup; ++i) {
      hash.add(encode(*tokenizer, strings.string(i)));
    }
    EXPECT_EQ(hash.value(), expected) << "strings " << start << " to " << start + kGroup - 1;
  }
}

TEST(UnicodeAgreement, Gpt2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_agreement(shared_tokenizers() / "gpt-2", "gpt-2");
}

TEST(UnicodeAgreement, Qwen2) {
  PANDO_NEED_SHARED_TOKENIZERS();
  expect_agreement(shared_tokenizers() / "qwen2.5", "qwen2");
}

TEST(UnicodeAgreement, Llama3) {
  PANDO_NEED_SHARED_TOKENIZERS();
  const TempDirectory directory;
  write_llama3(shared_tokenizers() / "llama-3" / "tokenizer.model", directory);
  expect_agreement(directory.path(), "llama-3");
}

}  // namespace
}  // namespace pando::testing
