#include "api/prompt.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/test_files.h"

namespace pando {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<Token>;

// The demo model, whose tokenizer puts two tokens before a text and two behind it.
class CutPrompts : public ::testing::Test {
 protected:
  CutPrompts() {
    const fs::path demo = fs::path(PANDO_SOURCE_DIR) / "models" / "demo";
    for (const char* name : {"config.json", "model.safetensors", "tokenizer_config.json"})
      fs::create_symlink(demo / name, folder_.path() / name);
    nlohmann::json tokenizer = nlohmann::json::parse(std::ifstream(demo / "tokenizer.json"));
    const nlohmann::json special = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
    const nlohmann::json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
                         second = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
    tokenizer["post_processor"] = {
        {"type", "TemplateProcessing"},
        {"single", {special, special, text, special, special}},
        {"pair", {special, text, second}},
        {"special_tokens",
         {{"<|endoftext|>",
           {{"id", "<|endoftext|>"}, {"ids", {0}}, {"tokens", {"<|endoftext|>"}}}}}}};
    tokenizer["post_processor"]["special_tokens"]["<|endoftext|>"]["ids"][0] =
        tokenizer["added_tokens"][0]["id"];
    std::ofstream(folder_.path() / "tokenizer.json") << tokenizer;
    model_ = Model::load(folder_.path(), {.weights = WeightType::kNone}).value();
  }

  Tokens encoded(Request request) const { return encode_prompt(*model_, request).value(); }

  TemporaryFolder folder_;
  std::shared_ptr<const Model> model_;
};

TEST_F(CutPrompts, WhatStandsAroundATextStays) {
  const std::string text = "one two three four five six";
  const Tokens whole = encoded({.prompt = text}), bare = model_->encode(text, false).value();
  ASSERT_EQ(whole.size(), bare.size() + 4);
  ASSERT_GE(bare.size(), 6u);
  for (int most = 1; most <= static_cast<int>(whole.size()) + 1; ++most) {
    const size_t n_text = std::min<size_t>(std::max(most - 4, 0), bare.size());
    for (const bool at_end : {false, true}) {
      Tokens expected(whole.begin(), whole.begin() + 2);
      const auto first = at_end ? bare.begin() : bare.end() - static_cast<std::ptrdiff_t>(n_text);
      expected.insert(expected.end(), first, first + static_cast<std::ptrdiff_t>(n_text));
      expected.insert(expected.end(), whole.end() - 2, whole.end());
      EXPECT_EQ(
          encoded({.prompt = text, .truncate_prompt_tokens = most, .truncate_at_end = at_end}),
          expected)
          << most << at_end;
    }
  }
  EXPECT_EQ(encoded({.prompt = text, .add_special_tokens = false}), bare);
  EXPECT_EQ(encoded({.tokens = bare, .truncate_prompt_tokens = 2}),
            Tokens(bare.end() - 2, bare.end()));
}

// A request that has tokens keeps its count of cut tokens.
TEST_F(CutPrompts, AreCounted) {
  Request request;
  request.prompt = "one two three four five six";
  const Tokens whole = encoded(request);
  ASSERT_TRUE(take_tokens(*model_, request).ok());
  EXPECT_EQ(request.tokens, whole);
  EXPECT_EQ(request.cut_tokens, 0);
  request.tokens.clear();
  request.truncate_prompt_tokens = static_cast<int>(whole.size()) - 3;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(take_tokens(*model_, request).ok());
    EXPECT_EQ(request.tokens.size(), whole.size() - 3);
    EXPECT_EQ(request.cut_tokens, 3);
  }
}

// After a text come two special tokens. sentence-transformers leaves out the last.
TEST_F(CutPrompts, BeginWithWhatIsNotPooled) {
  const auto pooled_from = [&](Request request) {
    EXPECT_TRUE(take_tokens(*model_, request).ok());
    return request.pooled_from;
  };
  const int n_query = static_cast<int>(model_->encode("Query:", false)->size());
  EXPECT_EQ(pooled_from({.prompt = "Query: one"}), 0);
  EXPECT_EQ(pooled_from({.prompt = "Query: one", .unpooled = "Query:"}), 2 + n_query + 1);
  EXPECT_EQ(
      pooled_from({.prompt = "Query: one", .add_special_tokens = false, .unpooled = "Query:"}),
      n_query);
  EXPECT_EQ(pooled_from({.tokens = {5, 6}, .unpooled = "Query:"}), 0);
  Request other{.prompt = "one", .unpooled = "Query:"};
  EXPECT_EQ(take_tokens(*model_, other).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace pando
