// Configurations of StableLM.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::stablelm_test {
namespace {

using nlohmann::json;
using namespace config_json;

json stablelm(const json& change = json::object()) {
  return decoder("StableLmForCausalLM", "stablelm", change);
}

TEST(DenseConfig, ReadsStableLm) {
  const ModelConfig usual = read(stablelm());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_FALSE(usual.qkv_bias);
  EXPECT_FALSE(usual.tied_embeddings);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 4);
  const ModelConfig config = read(stablelm({{"layer_norm_eps", 1e-3},
                                            {"use_qkv_bias", true},
                                            {"partial_rotary_factor", 0.5},
                                            {"qk_layernorm", false},
                                            {"use_parallel_residual", false}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_TRUE(config.qkv_bias);
  EXPECT_FALSE(config.o_bias);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 8);
  expect_error(stablelm({{"qk_layernorm", true}}), {"'qk_layernorm' is true", "expected false"});
  expect_error(stablelm({{"use_parallel_residual", true}}), {"use_parallel_residual"});
  // As older files name them.
  EXPECT_EQ(read(stablelm({{"architectures", {"StableLMEpochForCausalLM"}},
                           {"norm_eps", 1e-5},
                           {"rope_pct", 0.25}})),
            usual);
  EXPECT_EQ(read(stablelm({{"norm_eps", 1e-3}, {"layer_norm_eps", 1e-3}})).rms_eps, 1e-3f);
  expect_error(stablelm({{"norm_eps", 1e-3}}), {"'norm_eps' is 0.001", "1e-05", "layer_norm_eps"});
  expect_error(stablelm({{"rope_pct", 0.5}}),
               {"'rope_pct' is 0.5", "0.25", "partial_rotary_factor"});
}

}  // namespace
}  // namespace pando::model::stablelm_test
