// Configurations of Phi-3.5-MoE.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::phimoe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsPhiMoe) {
  const auto phi = [](const json& change) {
    return decoder("PhimoeForCausalLM", "phimoe", change);
  };
  const ModelConfig usual = read(phi({{"lm_head_bias", true}, {"attention_bias", true}}));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 16,
                                          .n_used = 2,
                                          .d_ff = 172,
                                          .scores = RouterScores::kSparseMixer,
                                          .mixer_jitter = 0.01f}));
  // As the published files call it.
  EXPECT_EQ(read(phi({{"architectures", {"PhiMoEForCausalLM"}},
                      {"lm_head_bias", true},
                      {"attention_bias", true}})),
            usual);
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias && usual.head_bias && usual.qkv_bias && usual.o_bias);
  const json ones = {1, 1, 1, 1, 1, 1, 1, 1};
  json scaling = {{"type", "longrope"},
                  {"short_factor", ones},
                  {"long_factor", ones},
                  {"short_mscale", 1.243},
                  {"long_mscale", 1.243}};
  const json sizes = {{"original_max_position_embeddings", 128}, {"rope_scaling", scaling}};
  EXPECT_EQ(read(phi(sizes)).rotations[0].attention_factor, 1.243);
  scaling["long_mscale"] = 1.3;
  expect_error(phi({{"original_max_position_embeddings", 128}, {"rope_scaling", scaling}}),
               {"'long_mscale' is 1.3", "short_mscale"}, ErrorCode::kUnsupported);
  expect_error(phi({{"num_experts_per_tok", 3}}), {"num_experts_per_tok", "expected 2"},
               ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::model::phimoe_test
