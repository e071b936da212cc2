// Agreement with the Python library `tokenizers` on small Unigram tokenizers, each on 2,000 random
// strings and 2,000 texts of its own pieces. All are written by tools/unigram_golden.py.
#include "memo_testing.h"
#include "steps_testing.h"
#include "text/normalizer.h"

namespace pando::testing {
namespace {

// Makes the same as tools/unigram_golden.py. Change both together.
std::vector<std::string> piece_texts(const Json& vocab) {
  uint64_t state = 1;
  const auto below = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  std::vector<std::string> texts(2000);
  for (std::string& text : texts) {
    for (uint64_t n = 1 + below(30); n > 0; --n) {
      text += vocab[below(vocab.size())][0].get<std::string>();
    }
    text = replace_all(text, kSpaceMark, " ");
  }
  return texts;
}

TEST(UnigramAgreement, EveryTokenizer) {
  const auto hashes = read_step_hashes("unigram_hashes.txt");
  const std::vector<Json> cases = read_step_cases("unigram.jsonl");
  EXPECT_EQ(cases.size(), hashes.size());
  for (const Json& unigram_case : cases) {
    const std::string name = unigram_case["name"];
    SCOPED_TRACE(name);
    const Json& document = unigram_case["tokenizer"];
    const auto tokenizer = load_json(document);
    if (tokenizer == nullptr) continue;
    IdHash hash;
    for (const std::string& text : step_texts()) hash.add(encode(*tokenizer, text, true));
    for (const std::string& text : piece_texts(document["model"]["vocab"])) {
      hash.add(encode(*tokenizer, text, true));
    }
    EXPECT_EQ(hash.value(), hashes.at(name));
    expect_same_tokens(name, *tokenizer, is_slow() ? 20'000 : 40, added_texts(document));
  }
}

}  // namespace
}  // namespace pando::testing
