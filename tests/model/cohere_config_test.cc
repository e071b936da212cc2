// Configurations of Cohere and Cohere 2.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::cohere_test {
namespace {

using nlohmann::json;
using namespace config_json;

json cohere(const json& change = json::object()) {
  return decoder("CohereForCausalLM", "cohere", change);
}
json cohere2(const json& change = json::object()) {
  return decoder("Cohere2ForCausalLM", "cohere2", change);
}

TEST(DenseConfig, ReadsCohere) {
  const ModelConfig usual = read(cohere());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.parallel);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.logit_scale, 0.0625f);
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_EQ(windows(usual), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 0}));
  const ModelConfig config = read(cohere({{"layer_norm_eps", 1e-3},
                                          {"logit_scale", 0.8333333333333334},
                                          {"rope_theta", 8e6},
                                          {"attention_bias", true},
                                          {"use_qk_norm", false}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.logit_scale, 0.8333333333333334f);
  EXPECT_EQ(config.rotations[0].theta, 8e6);
  EXPECT_TRUE(config.qkv_bias && config.o_bias);
  expect_error(cohere({{"sliding_window", 4096}}), {"sliding_window"});
}

TEST(DenseConfig, ReadsCohere2) {
  const ModelConfig usual = read(cohere2());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.parallel);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.logit_scale, 0.0625f);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  const ModelConfig config = read(cohere2({{"layer_norm_eps", 1e-3},
                                           {"logit_scale", 0.3},
                                           {"sliding_window", 9},
                                           {"sliding_window_pattern", 2}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.logit_scale, 0.3f);
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  expect_error(cohere2({{"logit_scale", 1e9}}), {"logit_scale", "(0, 1e6]"}, ErrorCode::kBadFile);
  expect_error(cohere2({{"rotary_pct", 0.5}}), {"rotary_pct", "0.5"});
  expect_error(cohere2({{"use_parallel_block", false}}), {"use_parallel_block"});
}

}  // namespace
}  // namespace pando::model::cohere_test
