// Configurations of GLM-4.5, a mixture of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::glm4_moe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsGlm4) {
  const auto glm = [](const json& change) {
    return decoder("Glm4MoeForCausalLM", "glm4_moe", change);
  };
  const ModelConfig usual = read(glm(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 128,
                                          .n_used = 8,
                                          .d_ff = 1408,
                                          .shared_d_ff = 1408,
                                          .scores = RouterScores::kSigmoid,
                                          .renormalised = true,
                                          .choice_bias = true,
                                          .n_group_best = 2}));
  EXPECT_EQ(mixtures(usual), (Ints{1, 2, 3}));
  EXPECT_EQ(usual.rotations[0].rotary_share, 0.5);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.qk_norm, QkNorm::kNone);
  EXPECT_FALSE(usual.qkv_bias);
  const ModelConfig other = read(glm({{"use_qk_norm", true},
                                      {"attention_bias", true},
                                      {"partial_rotary_factor", 0.25},
                                      {"first_k_dense_replace", 3},
                                      {"n_routed_experts", 8},
                                      {"n_shared_experts", 0},
                                      {"num_experts_per_tok", 2},
                                      {"moe_intermediate_size", 24},
                                      {"routed_scaling_factor", 2.5},
                                      {"norm_topk_prob", false},
                                      {"n_group", 4},
                                      {"topk_group", 3}}));
  EXPECT_EQ(other.qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(other.qkv_bias && !other.o_bias);
  EXPECT_EQ(other.rotations[0].rotary_share, 0.25);
  EXPECT_EQ(mixtures(other), Ints{3});
  EXPECT_EQ(other.experts, (ExpertsConfig{.n_experts = 8,
                                          .n_used = 2,
                                          .d_ff = 24,
                                          .scores = RouterScores::kSigmoid,
                                          .weight_scale = 2.5f,
                                          .choice_bias = true,
                                          .n_groups = 4,
                                          .n_groups_used = 3,
                                          .n_group_best = 2}));
  expect_error(glm({{"scoring_func", "softmax"}}), {"'scoring_func' is \"softmax\""},
               ErrorCode::kUnsupported);
  expect_error(glm({{"n_routed_experts", 10}, {"n_group", 4}, {"topk_group", 2}}),
               {"'num_experts' is 10", "'n_group' 4"});
  expect_error(glm({{"sliding_window", 64}}), {"'sliding_window' is 64", "glm4_moe"},
               ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::model::glm4_moe_test
