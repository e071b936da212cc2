// Prompts that ask for the text in a gap, by the tokens of a vocabulary.
#include "text/fim.h"

#include <gtest/gtest.h>

#include "text/text_testing.h"

namespace pando::testing {
namespace {

// A vocabulary of bytes and of these tokens, from 256 on.
std::unique_ptr<Tokenizer> with_tokens(const std::vector<std::string>& texts) {
  Json document = byte_level_json({}, Json::array());
  for (const std::string& text : texts)
    document["added_tokens"].push_back(
        added_token(256 + static_cast<int>(document["added_tokens"].size()), text));
  return load_json(document);
}

TEST(Fim, TheVocabularyDecidesTheForm) {
  const auto form = fim_form_of(*with_tokens(
      {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|fim_pad|>", "<|file_sep|>"}));
  ASSERT_TRUE(form.ok()) << form.error().message();
  EXPECT_EQ(fim_prompt(*form, "a", "b"), "<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
  EXPECT_EQ(fim_file(*form, "f.cc", "x"), "<|file_sep|>f.cc\nx");
  EXPECT_EQ(form->ends, (std::vector<Token>{259, 260}));
}

TEST(Fim, SomeVocabulariesPutTheSuffixFirst) {
  const auto form = fim_form_of(*with_tokens({"[SUFFIX]", "[PREFIX]"}));
  ASSERT_TRUE(form.ok()) << form.error().message();
  EXPECT_EQ(fim_prompt(*form, "a", "b"), "[SUFFIX]b[PREFIX]a");
  EXPECT_EQ(fim_file(*form, "f.cc", "x"), "x\n");
  EXPECT_TRUE(form->ends.empty());
}

TEST(Fim, TokensMayHaveOtherLetters) {
  const auto form =
      fim_form_of(*with_tokens({"<\uff5cfim\u2581begin\uff5c>", "<\uff5cfim\u2581hole\uff5c>",
                                "<\uff5cfim\u2581end\uff5c>"}));
  ASSERT_TRUE(form.ok()) << form.error().message();
  EXPECT_EQ(fim_prompt(*form, "a", ""),
            "<\uff5cfim\u2581begin\uff5c>a<\uff5cfim\u2581hole\uff5c><\uff5cfim\u2581end\uff5c>");
}

TEST(Fim, AllTokensOfAFormAreNeeded) {
  const auto form = fim_form_of(*with_tokens({"<fim_prefix>", "<fim_suffix>", "[PREFIX]"}));
  ASSERT_FALSE(form.ok());
  EXPECT_EQ(form.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::testing
