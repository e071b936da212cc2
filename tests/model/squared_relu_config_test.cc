// Configurations of Arcee and Nemotron, whose activation is the square of ReLU.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::squared_relu_test {
namespace {

using nlohmann::json;
using namespace config_json;

json arcee(const json& change = json::object()) {
  return decoder("ArceeForCausalLM", "arcee", change);
}
json nemotron(const json& change = json::object()) {
  return decoder("NemotronForCausalLM", "nemotron", change);
}

TEST(DenseConfig, ReadsArcee) {
  const ModelConfig usual = read(arcee({{"hidden_act", "relu2"}, {"mlp_bias", false}}));
  EXPECT_EQ(usual.activation, Activation::kSquaredRelu);
  EXPECT_EQ(usual.n_inner(), 1);
  EXPECT_EQ(usual.norm, Norm::kRms);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(read(arcee()), usual);
  EXPECT_TRUE(read(arcee({{"attention_bias", true}})).o_bias);
  expect_error(arcee({{"hidden_act", "silu"}}), {"'hidden_act' is \"silu\"", "relu2"});
  expect_error(arcee({{"mlp_bias", true}}), {"mlp_bias"});
}

TEST(DenseConfig, ReadsNemotron) {
  const ModelConfig usual = read(nemotron());
  EXPECT_EQ(usual.activation, Activation::kSquaredRelu);
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 8);
  const ModelConfig config = read(nemotron({{"norm_eps", 1e-3}, {"partial_rotary_factor", 0.25}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 4);
  expect_error(nemotron({{"hidden_act", "gelu"}}), {"'hidden_act' is \"gelu\"", "relu2"});
}

}  // namespace
}  // namespace pando::model::squared_relu_test
