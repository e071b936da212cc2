// Pairs of texts between special tokens: templates, types, limits.
#include "text/text_template.h"

#include "text_testing.h"

namespace pando::testing {
namespace {

using Cut = PairLimit::Cut;

std::vector<Token> counted(int n, Token first) {
  std::vector<Token> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back(first + i);
  return tokens;
}

// BERT's: [CLS] = 1, [SEP] = 2.
TextTemplates bert_templates() {
  const Token before[] = {1}, after[] = {2};
  return templates_around(before, after, {}, 1);
}

TypedTokens joined(int n_first, int n_second, const PairLimit& limit) {
  Result<TypedTokens> made =
      join_texts(bert_templates(), {counted(n_first, 100), counted(n_second, 200)}, limit);
  if (made.ok()) return std::move(*made);
  ADD_FAILURE() << made.error().message();
  return {};
}

TEST(TextTemplate, PairsHaveTheTypesOfBert) {
  const TypedTokens pair = joined(2, 1, {});
  EXPECT_EQ(pair.tokens, (std::vector<Token>{1, 100, 101, 2, 200, 2}));
  EXPECT_EQ(pair.types, (std::vector<uint8_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(pair.n_cut, 0);
}

TEST(TextTemplate, RobertaHasTwoSeparatorsAndOneType) {
  const Token before[] = {1}, after[] = {2};
  const auto pair = join_texts(templates_around(before, after, after), {{7}, {8}}, {});
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(pair->tokens, (std::vector<Token>{1, 7, 2, 2, 8, 2}));
  EXPECT_EQ(pair->types, std::vector<uint8_t>(6));
}

// Lengths of both texts that `tokenizers` leaves within 10 tokens and three special ones.
TEST(TextTemplate, TheLongerTextIsCutFirst) {
  struct Case {
    int first, second, left_first, left_second;
  };
  for (const Case& c : {Case{3, 20, 3, 7}, Case{20, 3, 7, 3}, Case{20, 20, 5, 5}, Case{6, 9, 5, 5},
                        Case{5, 6, 5, 5}, Case{10, 0, 10, 0}, Case{11, 0, 10, 0}}) {
    const TypedTokens pair = joined(c.first, c.second, {.most_tokens = 13});
    const auto n_second = std::count_if(pair.tokens.begin(), pair.tokens.end(),
                                        [](Token token) { return token >= 200; });
    EXPECT_EQ(n_second, c.left_second) << c.first << " " << c.second;
    EXPECT_EQ(static_cast<int>(pair.tokens.size()) - 3 - n_second, c.left_first);
    EXPECT_EQ(pair.n_cut, c.first + c.second - c.left_first - c.left_second);
  }
}

TEST(TextTemplate, OneTextAloneIsCut) {
  const TypedTokens second = joined(4, 9, {.most_tokens = 10, .cut = Cut::kSecond});
  EXPECT_EQ(second.tokens, (std::vector<Token>{1, 100, 101, 102, 103, 2, 200, 201, 202, 2}));
  const TypedTokens first = joined(4, 3, {.most_tokens = 8, .cut = Cut::kFirst, .at_end = false});
  EXPECT_EQ(first.tokens, (std::vector<Token>{1, 102, 103, 2, 200, 201, 202, 2}));
  const auto short_one = join_texts(bert_templates(), {counted(9, 100), counted(3, 200)},
                                    {.most_tokens = 10, .cut = Cut::kSecond});
  ASSERT_FALSE(short_one.ok());
  EXPECT_EQ(short_one.error().code, ErrorCode::kInvalidArgument);
}

TEST(TextTemplate, PairsNeedATemplate) {
  const auto pair = join_texts(templates_around({}, {}), {{1}, {2}}, {});
  ASSERT_FALSE(pair.ok());
  EXPECT_EQ(pair.error().code, ErrorCode::kUnsupported);
}

// BERT's own file of a vocabulary, as its class in the transformers library reads it.
TEST(VocabTxt, ReadsAsBertTokenizer) {
  const TempDirectory directory;
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\n,\nEis\n");
  const auto lower = load_tokenizer(directory.path());
  ASSERT_NE(lower, nullptr);
  EXPECT_EQ(encode(*lower, "Playing, [MASK] Eis", true), (std::vector<Token>{2, 5, 6, 7, 4, 1, 3}));
  EXPECT_TRUE(lower->gives_types());
  directory.write_json("tokenizer_config.json",
                       {{"do_lower_case", false}, {"tokenizer_class", "DistilBertTokenizer"}});
  const auto cased = load_tokenizer(directory.path());
  ASSERT_NE(cased, nullptr);
  EXPECT_EQ(encode(*cased, "playing Eis"), (std::vector<Token>{5, 6, 8}));
  EXPECT_FALSE(cased->gives_types());
  directory.write_json("tokenizer_config.json", {{"tokenizer_class", "MPNetTokenizer"}});
  const auto other = Tokenizer::load(ModelPath(directory.path()));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kUnsupported);
  directory.write("vocab.txt", "[PAD]\n[CLS]\n[SEP]\n[MASK]\n");
  directory.write_json("tokenizer_config.json", Json::object());
  const auto lacking = Tokenizer::load(ModelPath(directory.path()));
  ASSERT_FALSE(lacking.ok());
  EXPECT_NE(lacking.error().message().find("[UNK]"), std::string::npos);
}

TEST(VocabTxt, InputNamesSayIfTypesAreGiven) {
  const TempDirectory directory;
  directory.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
  directory.write_json("tokenizer_config.json",
                       {{"model_input_names", {"input_ids", "attention_mask"}}});
  const auto tokenizer = load_tokenizer(directory.path());
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_FALSE(tokenizer->gives_types());
}

}  // namespace
}  // namespace pando::testing
