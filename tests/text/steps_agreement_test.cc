// Agreement with the Python library `tokenizers` on the steps of tokenizer.json, each on 2,000
// random strings. The reference is written by tools/tokenizer_steps_golden.py.
#include "memo_testing.h"
#include "steps_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

TEST(StepsAgreement, EveryCase) {
  const auto hashes = read_step_hashes("steps_hashes.txt");
  const std::vector<std::string> texts = step_texts();
  const std::vector<Json> cases = read_step_cases();
  EXPECT_EQ(cases.size(), hashes.size());
  size_t n_with_cuts = 0;
  for (const Json& step_case : cases) {
    const std::string name = step_case["name"];
    SCOPED_TRACE(name);
    const TempDirectory directory;
    const Json document = step_document(step_case);
    directory.write_json("tokenizer.json", document);
    const auto tokenizer = load_tokenizer(directory.path());
    if (tokenizer == nullptr) continue;
    IdHash hash;
    for (const std::string& text : texts) hash.add(encode(*tokenizer, text, true));
    EXPECT_EQ(hash.value(), hashes.at(name));
    n_with_cuts +=
        expect_same_tokens(name, *tokenizer, is_slow() ? 20'000 : 40, added_texts(document)) > 0;
  }
  EXPECT_GT(n_with_cuts, cases.size() / 3);
}

}  // namespace
}  // namespace pando::testing
