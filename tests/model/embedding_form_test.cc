// What files say of embeddings: those of sentence-transformers, and GGUF.
#include "model/embedding_form.h"

#include <gtest/gtest.h>

#include "base/gguf_writer.h"
#include "model/rerank_form.h"
#include "model/test_files.h"

namespace pando::model {
namespace {

class EmbeddingFormTest : public ::testing::Test {
 protected:
  void write_modules(std::initializer_list<const char*> kinds) const {
    nlohmann::json modules = nlohmann::json::array();
    for (const char* kind : kinds)
      modules.push_back({{"idx", modules.size()},
                         {"path", std::string(kind) == "Transformer" ? "" : "1_Pooling"},
                         {"type", std::string("sentence_transformers.models.") + kind}});
    folder_.write("modules.json", modules.dump());
  }
  void write_pooling(const nlohmann::json& config) const {
    std::filesystem::create_directories(folder_.path() / "1_Pooling");
    folder_.write("1_Pooling/config.json", config.dump());
  }
  EmbeddingForm form() const {
    const Result<EmbeddingForm> form = read_embedding_form(folder_.path());
    EXPECT_TRUE(form.ok()) << form.error().message;
    return form.ok() ? *form : EmbeddingForm{};
  }
  void expect_refused(std::initializer_list<std::string_view> words,
                      ErrorCode code = ErrorCode::kUnsupported) const {
    const Result<EmbeddingForm> form = read_embedding_form(folder_.path());
    ASSERT_FALSE(form.ok());
    EXPECT_EQ(form.error().code, code) << form.error().message;
    for (const std::string_view word : words)
      EXPECT_NE(form.error().message.find(word), std::string::npos) << form.error().message;
  }

  const TemporaryFolder folder_;
};

TEST_F(EmbeddingFormTest, SaysNothingWhereTheFilesDoNot) {
  EXPECT_EQ(form().pooling, Pooling::kNone);
  EXPECT_TRUE(form().normalise);
  EXPECT_EQ(form().prompt, "");
}

TEST_F(EmbeddingFormTest, FollowsModulesAndPooling) {
  write_modules({"Transformer", "Pooling", "Normalize"});
  write_pooling({{"pooling_mode_cls_token", false}, {"pooling_mode_mean_tokens", true}});
  EXPECT_EQ(form().pooling, Pooling::kMean);
  EXPECT_TRUE(form().normalise);
  write_pooling({{"pooling_mode_lasttoken", true}});
  EXPECT_EQ(form().pooling, Pooling::kLast);
  write_pooling({{"pooling_mode", "mean"}});
  EXPECT_EQ(form().pooling, Pooling::kMean);
  write_modules({"Transformer", "Pooling"});
  EXPECT_FALSE(form().normalise);
}

TEST_F(EmbeddingFormTest, ReadsTheDefaultPrompt) {
  write_modules({"Transformer", "Pooling"});
  write_pooling({{"pooling_mode_mean_tokens", true}});
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "query: "}, "default_prompt_name": "query"})");
  EXPECT_EQ(form().prompt, "query: ");
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "query: "}, "default_prompt_name": null})");
  EXPECT_EQ(form().prompt, "");
  folder_.write("config_sentence_transformers.json", R"({"default_prompt_name": "query"})");
  expect_refused({"config_sentence_transformers.json", "default_prompt_name", "query"},
                 ErrorCode::kBadFile);
}

TEST_F(EmbeddingFormTest, RefusesByNameWhatIsNotOffered) {
  write_modules({"Transformer", "Pooling", "Dense"});
  write_pooling({{"pooling_mode_mean_tokens", true}});
  expect_refused({"modules.json", "sentence_transformers.models.Dense"});
  write_modules({"Transformer", "Pooling"});
  write_pooling({{"pooling_mode_cls_token", true}});
  expect_refused({"1_Pooling", "'cls_token'"});
  write_pooling({{"pooling_mode_mean_tokens", true}, {"pooling_mode_max_tokens", true}});
  expect_refused({"max_tokens+mean_tokens"});
  write_pooling({{"pooling_mode_mean_tokens", false}});
  expect_refused({"the pooling is ''"});
  write_pooling({{"pooling_mode_mean_tokens", true}, {"include_prompt", false}});
  EXPECT_EQ(form().pooling, Pooling::kMean);  // there is no prompt
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"q": "query: "}, "default_prompt_name": "q"})");
  expect_refused({"include_prompt"});
  folder_.write("config_sentence_transformers.json", "{}");
  folder_.write("sentence_bert_config.json", R"({"do_lower_case": true})");
  expect_refused({"sentence_bert_config.json", "do_lower_case"});
}

// As Qwen3-Reranker is published: the answers are tokens, and the instruction is the prompt.
TEST_F(EmbeddingFormTest, ReadsHowARerankerIsAsked) {
  const auto read = [&] {
    const Result<RerankForm> form = read_rerank_form(folder_.path());
    EXPECT_TRUE(form.ok()) << form.error().message;
    return form.ok() ? *form : RerankForm{};
  };
  EXPECT_FALSE(read().yes);
  folder_.write(
      "modules.json",
      R"([{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"},
                    {"path": "1_LogitScore", "type":
                     "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"}])");
  std::filesystem::create_directories(folder_.path() / "1_LogitScore");
  folder_.write("1_LogitScore/config.json", R"({"true_token_id": 9693, "false_token_id": 2152})");
  EXPECT_EQ(read().yes, 9693);
  EXPECT_EQ(read().no, 2152);
  EXPECT_EQ(read().instruction, "");
  folder_.write("config_sentence_transformers.json",
                R"({"prompts": {"query": "Find it"}, "default_prompt_name": "query"})");
  EXPECT_EQ(read().instruction, "Find it");
  expect_refused({"LogitScore", "the model is a reranker", "pando rerank"});
  for (const char* wrong : {R"({"true_token_id": 1})", R"({"false_token_id": 1})",
                            R"({"true_token_id": -1, "false_token_id": 1})"}) {
    folder_.write("1_LogitScore/config.json", wrong);
    const Result<RerankForm> form = read_rerank_form(folder_.path());
    ASSERT_FALSE(form.ok()) << wrong;
    EXPECT_NE(form.error().message.find("_token_id' is "), std::string::npos)
        << form.error().message;
  }
}

TEST_F(EmbeddingFormTest, ReadsTheKeyOfGgufFiles) {
  const auto read = [&](uint32_t type) {
    testing::GgufWriter writer;
    writer.string("general.architecture", "qwen3").uint32("qwen3.pooling_type", type);
    return read_embedding_form(folder_.write("m.gguf", writer.bytes()));
  };
  EXPECT_EQ(read(0)->pooling, Pooling::kNone);
  EXPECT_EQ(read(1)->pooling, Pooling::kMean);
  EXPECT_EQ(read(3)->pooling, Pooling::kLast);
  for (const uint32_t type : {2u, 4u}) {
    const auto refused = read(type);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
    EXPECT_NE(refused.error().message.find("qwen3.pooling_type"), std::string::npos);
    EXPECT_EQ(refused.error().message.find("reranker") != std::string::npos, type == 4);
  }
}

}  // namespace
}  // namespace pando::model
