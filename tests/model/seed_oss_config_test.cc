// Configurations of Seed-OSS.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::seed_oss_test {
namespace {

using nlohmann::json;
using namespace config_json;

json seed_oss(const json& change = json::object()) {
  return decoder("SeedOssForCausalLM", "seed_oss", change);
}

TEST(DenseConfig, ReadsSeedOss) {
  const ModelConfig usual = read(seed_oss());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(seed_oss({{"attention_bias", false}, {"attention_out_bias", true}, {"head_dim", 32}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_TRUE(config.o_bias);
  expect_error(seed_oss({{"mlp_bias", true}}), {"mlp_bias"});
}

}  // namespace
}  // namespace pando::model::seed_oss_test
