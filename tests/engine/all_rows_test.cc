// Models whose last layer computes all rows, for timing few layers in place of many.
#include <gtest/gtest.h>

#include "api/model.h"
#include "api/model_access.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

TEST(AllRows, ComputesMoreAndAnswersTheSame) {
  const TemporaryFolder folder;
  RandomModelOptions make;
  make.shape = "tiny-qwen3";
  make.out = folder.path() / "model";
  make.n_layers = 1;
  ASSERT_TRUE(make_random_model(make).ok());
  Request embedded = tiny_request("A text with a vector.");
  embedded.pooling = Pooling::kLast;
  std::vector<uint64_t> hashes;
  std::vector<std::vector<float>> vectors;
  std::vector<double> operations;
  for (const bool all_rows : {false, true}) {
    const auto model = all_rows ? load_for_timing(make.out, {}) : Model::load(make.out, {});
    ASSERT_TRUE(model.ok()) << model.error().message();
    EngineOptions options = tiny_options();
    options.step_rows = 16;  // steps without outputs, too
    const auto engine = Engine::open(*model, options);
    ASSERT_TRUE(engine.ok()) << engine.error().message();
    const auto answer = (*engine)->complete(tiny_request("Once upon a time there was a tree."));
    const auto vector = (*engine)->complete(embedded);
    ASSERT_TRUE(answer.ok() && vector.ok());
    hashes.push_back(answer->at(0).logits_hash);
    vectors.push_back(vector->at(0).embedding);
    operations.push_back((*engine)->stats().linear_flops);
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(vectors[0], vectors[1]);
  EXPECT_GT(operations[1], 2 * operations[0]);
}

}  // namespace
}  // namespace pando::testing
