// Vectors and weights of tokens from bge-m3's heads equal FlagEmbedding's formulas.
// tools/token_vectors_golden.py makes the heads and the expected results.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "api/prompt.h"
#include "model/test_files.h"
#include "pando/embed.h"
#include "task/bge_m3.h"

namespace pando::testing {
namespace {

using nlohmann::json;

class TokenVectors : public ::testing::Test {
 protected:
  TokenVectors() {
    copy_bge_m3(folder_.path() / "m");
    auto model = Model::load(folder_.path() / "m", {.weights = WeightType::kF32, .threads = 1});
    if (!model) throw std::runtime_error(model.error().message());
    auto engine = Engine::open(*model, {.threads = 1, .kv_memory = size_t{64} << 20});
    if (!engine) throw std::runtime_error(engine.error().message());
    engine_ = std::move(*engine);
  }
  EmbedOptions options(EmbedOutput output) const {
    return embed_options_for(engine_->model(), {.output = output}).value();
  }
  Completion answer(const Request& request) { return std::move((*engine_->complete(request))[0]); }
  static json expected() { return json::parse(std::ifstream(bge_m3_data() / "expected.json")); }

  const TemporaryFolder folder_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(TokenVectors, AreThoseOfColbert) {
  const EmbedOptions tokens = options(EmbedOutput::kTokens);
  for (const json& one : expected()) {
    const Request request = embed_request(tokens, one["text"].get<std::string>());
    EXPECT_EQ(encode_prompt(engine_->model(), request).value(),
              one["tokens"].get<std::vector<Token>>());
    const auto vectors = token_vectors_of(answer(request), tokens);
    ASSERT_EQ(vectors.size(), one["vectors"].size());  // the first token has no vector
    for (size_t i = 0; i < vectors.size(); ++i) {
      const auto vector = one["vectors"][i].get<std::vector<double>>();
      ASSERT_EQ(vectors[i].size(), vector.size());
      for (size_t k = 0; k < vector.size(); ++k) EXPECT_NEAR(vectors[i][k], vector[k], 2e-6);
    }
  }
}

// A token that occurs twice gets its highest weight. Special tokens get none.
TEST_F(TokenVectors, WeightsAreThoseOfSparseRetrieval) {
  const EmbedOptions weights = options(EmbedOutput::kWeights);
  for (const json& one : expected()) {
    const Request request = embed_request(weights, one["text"].get<std::string>());
    const auto found =
        token_weights_of(answer(request), weights, engine_->model(), request).value();
    ASSERT_EQ(found.size(), one["weights"].size());
    auto next = found.begin();
    for (const json& weight : one["weights"]) {
      EXPECT_EQ(next->first, weight[0].get<Token>());
      EXPECT_NEAR(next->second, weight[1].get<double>(), 5e-6);
      ++next;
    }
  }
}

TEST_F(TokenVectors, WeightsNeedTheirHead) {
  std::filesystem::remove(folder_.path() / "m/sparse_linear.pt");
  const auto model = Model::load(folder_.path() / "m", {.threads = 1}).value();
  const auto refused = embed_options_for(*model, {.output = EmbedOutput::kWeights});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message(),
            "the model has no weights of tokens, expected the file sparse_linear.pt");
}

}  // namespace
}  // namespace pando::testing
