// Configurations of Mixtral.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::mixtral_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsMixtral) {
  const ModelConfig usual = read(decoder("MixtralForCausalLM", "mixtral", json::object()));
  EXPECT_EQ(usual.experts,
            (ExpertsConfig{.n_experts = 8, .n_used = 2, .d_ff = 172, .renormalised = true}));
  EXPECT_EQ(usual.rotations[0].theta, 1e6);
  EXPECT_EQ(usual.layers[3].window, 0);
  EXPECT_EQ(
      read(decoder("MixtralForCausalLM", "mixtral", {{"sliding_window", 30}})).layers[3].window,
      30);
}

}  // namespace
}  // namespace pando::model::mixtral_test
