// Configurations of HunYuan with mixtures of experts.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::hunyuan_moe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsHunYuan) {
  const auto hunyuan = [](const json& change) {
    return decoder("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", change);
  };
  const auto four = [](int n) { return json{n, n, n, n}; };
  const ModelConfig usual = read(hunyuan(json::object()));
  EXPECT_EQ(
      usual.experts,
      (ExpertsConfig{
          .n_experts = 1, .n_used = 1, .d_ff = 172, .shared_d_ff = 172, .renormalised = true}));
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHeadTurned);
  // As the published model has it.
  const ModelConfig config =
      read(hunyuan({{"num_experts", 64},
                    {"moe_topk", four(8)},
                    {"moe_intermediate_size", four(172)},
                    {"num_shared_expert", four(1)},
                    {"use_mixed_mlp_moe", true},
                    {"moe_layer_num_skipped", 0},
                    {"kv_lora_rank", nullptr},
                    {"use_mla", false},
                    {"rope_scaling", {{"type", "dynamic"}, {"alpha", 50}}}}));
  EXPECT_EQ(config.experts.n_experts, 64);
  EXPECT_EQ(config.experts.n_used, 8);
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 2, 3}));
  EXPECT_NEAR(config.rotations[0].theta, 1e4 * std::pow(50, 16 / 14.0), 1);
  const json many = {{"num_experts", 64}};
  const auto used = [&](json change) {
    change.update(many);
    return read(hunyuan(change)).experts.n_used;
  };
  EXPECT_EQ(used({{"moe_topk", 3}}), 3);
  EXPECT_EQ(used({{"num_experts_per_tok", 3}}), 3);
  const auto refuse = [&](json change, const std::vector<std::string>& words, ErrorCode code) {
    change.update(many);
    expect_error(hunyuan(change), words, code);
  };
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported, kBad = ErrorCode::kBadFile;
  refuse({{"moe_topk", {8, 8, 4, 8}}}, {"'moe_topk[2]' is 4", "8, as in layer 0"}, kUnsupported);
  refuse({{"moe_topk", {8, 8}}}, {"'moe_topk' is", "each of 4 layers"}, kBad);
  refuse({{"moe_topk", four(0)}}, {"'moe_topk[0]' is 0"}, kBad);
  refuse({{"moe_intermediate_size", four(88)}},
         {"'moe_intermediate_size' is", "'intermediate_size' 172"}, kUnsupported);
  refuse({{"num_shared_expert", 2}}, {"'num_shared_expert' is 2", "1"}, kUnsupported);
  refuse({{"moe_layer_num_skipped", 1}}, {"'moe_layer_num_skipped' is 1"}, kUnsupported);
  for (const char* name : {"use_mixed_mlp_moe", "norm_topk_prob", "use_qk_norm"})
    refuse({{name, false}}, {name}, kUnsupported);
  for (const char* name : {"use_mla", "use_cla", "group_limited_greedy"})
    refuse({{name, true}}, {name}, kUnsupported);
}

}  // namespace
}  // namespace pando::model::hunyuan_moe_test
