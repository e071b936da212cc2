// Agreement with the Python library `tokenizers` on the steps of tokenizer.json, each on 2,000
// random strings. The reference is written by tools/tokenizer_steps_golden.py.
#include "steps_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

TEST(StepsAgreement, EveryCase) {
  const auto hashes = read_step_hashes("steps_hashes.txt");
  const std::vector<std::string> texts = step_texts();
  const std::vector<Json> cases = read_step_cases();
  EXPECT_EQ(cases.size(), hashes.size());
  for (const Json& step_case : cases) {
    const std::string name = step_case["name"];
    SCOPED_TRACE(name);
    const TempDirectory directory;
    directory.write_json("tokenizer.json", step_document(step_case));
    const auto tokenizer = load_tokenizer(directory.path());
    if (tokenizer == nullptr) continue;
    IdHash hash;
    for (const std::string& text : texts) hash.add(encode(*tokenizer, text, true));
    EXPECT_EQ(hash.value(), hashes.at(name));
  }
}

}  // namespace
}  // namespace pando::testing
