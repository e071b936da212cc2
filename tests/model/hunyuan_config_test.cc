// Configurations of HunYuan, without mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::hunyuan_test {
namespace {

using nlohmann::json;
using namespace config_json;

json hunyuan(const json& change = json::object()) {
  return decoder("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", change);
}

TEST(DenseConfig, ReadsHunYuan) {
  const ModelConfig usual = read(hunyuan());
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHeadTurned);
  EXPECT_EQ(usual.head_dim, 16);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0], RopeConfig());
  EXPECT_FALSE(usual.qkv_bias);
  const json published = {{"alpha", 1000.0},  {"beta_fast", 32}, {"beta_slow", 1},
                          {"factor", 1.0},    {"mscale", 1.0},   {"mscale_all_dim", 1.0},
                          {"type", "dynamic"}};
  const ModelConfig config = read(hunyuan({{"attention_bias", true},
                                           {"head_dim", 128},
                                           {"num_experts", 1},
                                           {"rope_theta", 1e4},
                                           {"rope_scaling", published}}));
  EXPECT_EQ(config.rotations[0].type, RopeType::kDefault);
  EXPECT_NEAR(config.rotations[0].theta, 11158839.925, 1e-3);
  EXPECT_EQ(config.rotations[0].theta, named_shape("hunyuan-1.8b")->rotations[0].theta);
  EXPECT_TRUE(config.o_bias);
  const json newer = {{"rope_type", "dynamic"}, {"alpha", 1000.0}, {"rope_theta", 1e4}};
  EXPECT_EQ(read(hunyuan({{"head_dim", 128}, {"rope_parameters", newer}})).rotations,
            config.rotations);
  // Without alpha only sequences longer than the context have another rotation.
  const json growing = {{"rope_type", "dynamic"}, {"factor", 2.0}};
  EXPECT_EQ(read(hunyuan({{"rope_scaling", growing}})).rotations, usual.rotations);
  EXPECT_EQ(read(decoder("Qwen2ForCausalLM", "qwen2", {{"rope_scaling", growing}})).rotations,
            read(decoder("Qwen2ForCausalLM", "qwen2")).rotations);
  expect_error(hunyuan({{"rope_scaling", {{"type", "dynamic"}, {"alpha", 0}}}}),
               {"'rope_scaling'", "alpha", "above 0"}, ErrorCode::kBadFile);
  expect_error(hunyuan({{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}, {"alpha", 9.0}}}}),
               {"alpha", "linear"});
  expect_error(hunyuan({{"rope_parameters", newer},
                        {"rope_scaling", {{"rope_type", "dynamic"}, {"alpha", 50.0}}}}),
               {"rope_scaling", "alpha"}, ErrorCode::kBadFile);
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_scaling", newer}}), {"dynamic"});
  expect_error(hunyuan({{"num_experts", 16}}), {"num_experts", "16"});
  expect_error(hunyuan({{"use_cla", true}}), {"use_cla"});
  expect_error(hunyuan({{"use_qk_norm", false}}), {"use_qk_norm"});
}

}  // namespace
}  // namespace pando::model::hunyuan_test
