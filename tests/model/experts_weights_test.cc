// The tensors of mixtures of experts in checkpoints, and their shares on several ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "exec/share.h"
#include "model/config.h"
#include "model/make_model.h"
#include "model/weight_specs.h"

namespace pando::model::experts_weights_test {
namespace {

// Checkpoints have a tensor for each expert; the list names each tensor once.
TEST(ExpertsConfig, PublishedCheckpointsHaveTensorsOfEachExpert) {
  const ModelConfig config = named_shape("tiny-mixtral").value();
  std::vector<std::string> names;
  for (const WeightSpec& spec : checkpoint_specs(config)) names.push_back(spec.name);
  const auto has = [&](const char* name) { return std::ranges::count(names, name) == 1; };
  EXPECT_TRUE(has("model.layers.1.block_sparse_moe.experts.4.w1.weight"));
  EXPECT_TRUE(has("model.layers.0.block_sparse_moe.experts.0.w2.weight"));
  EXPECT_TRUE(has("model.layers.0.block_sparse_moe.gate.weight"));
  EXPECT_FALSE(has("model.layers.0.block_sparse_moe.experts.gate_up_proj"));
}

// Outputs of experts are divided over ranks; the router is not.
TEST(ExpertsConfig, ExpertsDivideOverRanksByOutputs) {
  const ModelConfig config = named_shape("tiny-qwen3-moe").value();  // experts of 40, rows of 64
  using Ranges = std::vector<std::pair<int, int>>;
  const auto rows = [&](Role part, int n) {
    return exec::rows_of_share(config, /*layer=*/0, part, n, {.rank = 1, .n_ranks = 2});
  };
  EXPECT_EQ(rows(Role::kExpertGateUp, 80), (Ranges{{20, 40}, {60, 80}}));
  EXPECT_EQ(rows(Role::kExpertGateUpBias, 80), (Ranges{{20, 40}, {60, 80}}));
  EXPECT_EQ(rows(Role::kExpertDown, 64), (Ranges{{32, 64}}));
  EXPECT_EQ(rows(Role::kExpertDownBias, 64), (Ranges{{32, 64}}));
  EXPECT_EQ(rows(Role::kRouter, 8), (Ranges{{0, 8}}));
  EXPECT_EQ(exec::spec_of_share(config, {.rank = 1, .n_ranks = 2}).experts.d_ff, 20);
}

}  // namespace
}  // namespace pando::model::experts_weights_test
