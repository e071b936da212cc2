// Configurations of LFM2 with mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::lfm2_moe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsLfm2) {
  const auto lfm2 = [](const json& change) {
    json object = decoder("Lfm2MoeForCausalLM", "lfm2_moe",
                          {{"moe_intermediate_size", 40},
                           {"layer_types", {"conv", "conv", "full_attention", "conv"}}});
    object.update(change);
    return object;
  };
  const ModelConfig usual = read(lfm2(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 32,
                                          .n_used = 4,
                                          .d_ff = 40,
                                          .scores = RouterScores::kSigmoid,
                                          .renormalised = true,
                                          .choice_bias = true}));
  EXPECT_EQ(mixtures(usual), (Ints{2, 3}));
  EXPECT_EQ(usual.d_ff, 172);
  EXPECT_EQ(usual.layers[1].mixer, Mixer::kShortConv);
  EXPECT_EQ(usual.layers[2].mixer, Mixer::kAttention);
  EXPECT_EQ(usual.recurrent.conv_taps, 3);
  EXPECT_EQ(usual.rotations[0].theta, 1e6);
  EXPECT_TRUE(usual.tied_embeddings);
  const ModelConfig other = read(lfm2({{"num_dense_layers", 0},
                                       {"use_expert_bias", false},
                                       {"norm_topk_prob", false},
                                       {"routed_scaling_factor", 1.5},
                                       {"tie_embedding", false}}));
  EXPECT_EQ(mixtures(other), (Ints{0, 1, 2, 3}));
  EXPECT_FALSE(other.experts.choice_bias || other.experts.renormalised || other.tied_embeddings);
  EXPECT_EQ(other.experts.weight_scale, 1.5f);
  EXPECT_EQ(mixtures(read(lfm2({{"num_dense_layers", 4}}))), Ints());
  expect_error(lfm2({{"conv_bias", true}}), {"'conv_bias' is true"}, ErrorCode::kUnsupported);
  expect_error(lfm2({{"sliding_window", 64}}), {"'sliding_window' is 64", "lfm2_moe"},
               ErrorCode::kUnsupported);
  expect_error(lfm2({{"routed_scaling_factor", 0}}), {"'routed_scaling_factor' is 0"});
}

}  // namespace
}  // namespace pando::model::lfm2_moe_test
