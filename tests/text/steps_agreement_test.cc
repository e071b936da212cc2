// Agreement with the Python library `tokenizers` on the steps of tokenizer.json, each on 2,000
// random strings. The reference is written by tools/tokenizer_steps_golden.py.
#include <set>

#include "steps_testing.h"
#include "unicode_strings.h"

namespace pando::testing {
namespace {

constexpr uint64_t kStrings = 2000;
// Characters newer than some of the library's tables: U+09FD, U+1CF22, U+2E44, U+061D, U+107BA.
const std::set<uint64_t> kLeftOut = {480, 673, 1219, 1456, 1704};

TEST(StepsAgreement, EveryCase) {
  std::map<std::string, uint64_t> hashes;
  std::ifstream file(kStepsData + "steps_hashes.txt");
  for (std::string name, hash; file >> name >> hash;) hashes[name] = std::stoull(hash, nullptr, 16);
  UnicodeStrings strings(kStepsData + "assigned_ranges.txt");
  std::vector<std::string> texts;
  for (uint64_t i = 0; i < kStrings; ++i) {
    if (!kLeftOut.contains(i)) texts.push_back(strings.string(i));
  }
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
    EXPECT_EQ(hash.value(), hashes[name]);
  }
}

}  // namespace
}  // namespace pando::testing
