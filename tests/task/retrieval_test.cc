// Qwen3-Embedding and Qwen3-Reranker by the recipes of their cards, against the transformers
// library on tiny random models of their form (tools/retrieval_golden.py). All settings come from
// the files.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "model/test_files.h"
#include "pando/embed.h"
#include "pando/rerank.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path folder_of(const char* name) {
  return fs::path(PANDO_SOURCE_DIR) / "tests/task/data" / name;
}

json golden_of(const char* name) {
  std::ifstream file(folder_of(name) / "golden.json");
  return json::parse(file);
}

std::unique_ptr<Engine> open_golden(const char* name) {
  auto model = Model::load(folder_of(name), {.weights = WeightType::kF32, .threads = 1});
  if (!model) throw std::runtime_error(model.error().message());
  auto engine =
      Engine::open(*model, {.threads = 1, .kv_memory = size_t{64} << 20, .kv_type = KvType::kF32});
  if (!engine) throw std::runtime_error(engine.error().message());
  return std::move(*engine);
}

TEST(Retrieval, EmbeddingsAreThoseOfTheCard) {
  const std::unique_ptr<Engine> engine = open_golden("qwen3-embedding");
  const json golden = golden_of("qwen3-embedding");
  ASSERT_EQ(golden.size(), 10u);
  const std::string usual = RerankOptions::default_instruction();
  for (const json& one : golden) {
    const bool has_own = one["instruction"].is_string() && one["instruction"] != usual;
    EmbedOptions options;
    if (has_own)
      options.instruction = one["instruction"];
    else
      options.input_type = one["type"];
    const Result<EmbedOptions> all = embed_options_for(engine->model(), options);
    ASSERT_TRUE(all.ok()) << all.error().message();
    EXPECT_EQ(all->pooling, Pooling::kLast);
    EXPECT_TRUE(all->normalise.value());
    const std::string text = one["text"];
    const auto tokens = engine->model().encode(embed_request(*all, text).prompt);
    ASSERT_TRUE(tokens.ok());
    EXPECT_EQ(*tokens, one["tokens"].get<std::vector<Token>>()) << text;
    const auto vectors = embed(*engine, {text}, options);
    ASSERT_TRUE(vectors.ok()) << vectors.error().message();
    const auto expected = one["vector"].get<std::vector<float>>();
    ASSERT_EQ((*vectors)[0].size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR((*vectors)[0][i], expected[i], 1e-5) << text << ", " << i;
  }
}

TEST(Retrieval, ScoresAreThoseOfTheCard) {
  const std::unique_ptr<Engine> engine = open_golden("qwen3-reranker");
  const json golden = golden_of("qwen3-reranker");
  ASSERT_EQ(golden.size(), 24u);
  const Result<RerankOptions> usual = rerank_options_for(engine->model(), {});
  ASSERT_TRUE(usual.ok()) << usual.error().message();
  EXPECT_EQ(usual->yes, "yes");
  EXPECT_EQ(usual->no, "no");
  double least = 1, most = 0;
  for (const json& one : golden) {
    RerankOptions options;
    if (one["instruction"] != *usual->instruction) options.instruction = one["instruction"];
    const std::string query = one["query"], document = one["document"];
    const auto requests = rerank_requests(engine->model(), options, query, document);
    ASSERT_TRUE(requests.ok()) << requests.error().message();
    ASSERT_EQ(requests->size(), 1u) << "yes and no are a token each";
    std::vector<Token> prompt = requests->front().tokens;
    prompt.pop_back();
    EXPECT_EQ(prompt, one["tokens"].get<std::vector<Token>>()) << document;
    const auto scores = rerank(*engine, query, {document}, options);
    ASSERT_TRUE(scores.ok()) << scores.error().message();
    EXPECT_NEAR((*scores)[0], one["score"].get<double>(), 1e-5) << query << document;
    least = std::min(least, (*scores)[0]);
    most = std::max(most, (*scores)[0]);
  }
  EXPECT_GT(most - least, 0.1);
}

// Other answers and another instruction in the files.
TEST(Retrieval, TheFilesSayHowARerankerIsAsked) {
  const TemporaryFolder folder;
  fs::copy(folder_of("qwen3-reranker"), folder.path(), fs::copy_options::recursive);
  folder.write("1_LogitScore/config.json", R"({"true_token_id": 89, "false_token_id": 78})");
  folder.write("config_sentence_transformers.json",
               R"({"prompts": {"task": "Find it"}, "default_prompt_name": "task"})");
  const auto model = Model::load(folder.path(), {.threads = 1});
  ASSERT_TRUE(model.ok()) << model.error().message();
  const Result<RerankOptions> options = rerank_options_for(**model, {.no = "never"});
  ASSERT_TRUE(options.ok()) << options.error().message();
  EXPECT_EQ(options->instruction, "Find it");
  const std::vector<Token> yes = {89};
  EXPECT_EQ((*model)->encode(*options->yes).value(), yes);
  EXPECT_EQ(options->no, "never");
}

}  // namespace
}  // namespace pando::testing
