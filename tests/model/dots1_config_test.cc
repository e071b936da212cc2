// Configurations of dots.llm1.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::dots1_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsDots1) {
  const auto dots = [](const json& change = json::object()) {
    json object = decoder("Dots1ForCausalLM", "dots1",
                          {{"n_routed_experts", 8},
                           {"n_shared_experts", 2},
                           {"num_experts_per_tok", 3},
                           {"moe_intermediate_size", 24}});
    object.update(change);
    return object;
  };
  const ExpertsConfig usual = {.n_experts = 8,
                               .n_used = 3,
                               .d_ff = 24,
                               .shared_d_ff = 48,
                               .scores = RouterScores::kSigmoid,
                               .choice_bias = true,
                               .n_group_best = 2};
  EXPECT_EQ(read(dots()).experts, usual);
  EXPECT_EQ(read(dots()).qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(read(dots()).layers[3].window, 0);
  EXPECT_EQ(mixtures(read(dots())), (Ints{0, 1, 2, 3}));
  const ModelConfig config = read(dots({{"first_k_dense_replace", 1},
                                        {"norm_topk_prob", true},
                                        {"routed_scaling_factor", 2.5},
                                        {"sliding_window", nullptr},
                                        {"max_window_layers", 2}}));
  EXPECT_EQ(mixtures(config), (Ints{1, 2, 3}));
  EXPECT_TRUE(config.experts.renormalised);
  EXPECT_EQ(config.experts.weight_scale, 2.5f);
  expect_error(dots({{"max_window_layers", 2}}),
               {"'max_window_layers' is 2", "at least 4, the number of layers"},
               ErrorCode::kUnsupported);
  const json slides = {"full_attention", "full_attention", "full_attention", "sliding_attention"};
  expect_error(dots({{"layer_types", slides}}), {"layer_types", "sliding_attention"},
               ErrorCode::kUnsupported);
  EXPECT_EQ(read(dots({{"scoring_func", "noaux_tc"}})), read(dots()));  // as published
  expect_error(dots({{"scoring_func", "softmax"}}), {"scoring_func"}, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::model::dots1_test
