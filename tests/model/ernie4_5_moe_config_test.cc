// Configurations of ERNIE 4.5 with mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"
#include "model/family.h"

namespace pando::model::ernie4_5_moe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsErnie) {
  const auto ernie = [](const json& change) {
    return decoder("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", change);
  };
  const ModelConfig usual = read(ernie(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 64,
                                          .n_used = 6,
                                          .d_ff = 1536,
                                          .shared_d_ff = 3072,
                                          .renormalised = true,
                                          .choice_bias = true}));
  EXPECT_EQ(mixtures(usual), (Ints{1, 2, 3}));
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_TRUE(usual.tied_embeddings);
  const json few = {{"moe_num_experts", 8}, {"moe_k", 2}, {"moe_intermediate_size", 24}};
  const auto layers = [&](json change) {
    change.update(few);
    return mixtures(read(ernie(change)));
  };
  EXPECT_EQ(layers({{"moe_layer_start_index", 0}}), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(layers({{"moe_layer_interval", 2}}), (Ints{1, 3}));
  EXPECT_EQ(layers({{"moe_layer_interval", 3}}), Ints{2});
  EXPECT_EQ(layers({{"moe_layer_end_index", 2}}), (Ints{1, 2}));
  EXPECT_EQ(layers({{"moe_layer_start_index", 4}}), Ints());
  EXPECT_EQ(read(ernie({{"moe_num_shared_experts", 0}})).experts.shared_d_ff, 0);
  expect_error(ernie({{"moe_layer_interval", 0}}), {"'moe_layer_interval' is 0"});
  for (const json& change : {json{{"use_bias", true}}, json{{"moe_use_aux_free", false}},
                             json{{"moe_gate_act", "sigmoid"}}, json{{"moe_norm_min", 1e-6}}})
    expect_error(ernie(change), {change.begin().key()}, ErrorCode::kUnsupported);
  expect_error(ernie({{"moe_num_shared_experts", 1000}}),
               {"'moe_num_shared_experts' is 1000", "inner channels"});
  const Family& family = *usual.family;
  EXPECT_EQ(family.passed_over(usual, "model.mtp_block.0.mlp.gate_proj.weight"),
            "multi-token prediction");
  EXPECT_EQ(family.passed_over(usual, "model.layers.4.mlp.gate_proj.weight"), "");
}

}  // namespace
}  // namespace pando::model::ernie4_5_moe_test
