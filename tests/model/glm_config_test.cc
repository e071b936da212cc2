// Configurations of GLM-4, of both types: glm and glm4.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::glm_test {
namespace {

using nlohmann::json;
using namespace config_json;

json glm(const json& change = json::object()) { return decoder("GlmForCausalLM", "glm", change); }
json glm4(const json& change = json::object()) {
  return decoder("Glm4ForCausalLM", "glm4", change);
}

TEST(DenseConfig, ReadsGlm) {
  const ModelConfig usual = read(glm());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rms_eps, 1.5625e-7f);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  EXPECT_EQ(usual.rotations[0].rotary_dim(128), 64);
  EXPECT_FALSE(usual.tied_embeddings);
  const ModelConfig config = read(glm({{"head_dim", 16}, {"attention_bias", false}}));
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_FALSE(config.qkv_bias);
  expect_error(glm({{"hidden_act", "gelu"}}), {"hidden_act", "silu"});
}

TEST(DenseConfig, ReadsGlm4) {
  const ModelConfig usual = read(glm4());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rotations[0].rotary_dim(128), 64);
  EXPECT_EQ(usual.rms_eps, 1.5625e-7f);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(glm4({{"attention_bias", false}, {"head_dim", 24}, {"partial_rotary_factor", 0.25}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.rotations[0].rotary_dim(24), 6);
  expect_error(glm4({{"sliding_window", 9}}), {"sliding_window", "glm4"});
}

}  // namespace
}  // namespace pando::model::glm_test
