// Configurations of Granite, without mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::granite_test {
namespace {

using nlohmann::json;
using namespace config_json;

json granite(const json& change = json::object()) {
  return decoder("GraniteForCausalLM", "granite", change);
}

TEST(DenseConfig, ReadsGranite) {
  const ModelConfig usual = read(granite());
  EXPECT_EQ(usual.attention_scale, 1.0f);  // and not the root of the head's size
  EXPECT_EQ(usual.embedding_scale, 1.0f);
  const ModelConfig config = read(granite({{"embedding_multiplier", 12},
                                           {"residual_multiplier", 0.22},
                                           {"attention_multiplier", 0.015625},
                                           {"logits_scaling", 8.0}}));
  EXPECT_EQ(config.embedding_scale, 12.0f);
  EXPECT_EQ(config.residual_scale, 0.22f);
  EXPECT_EQ(config.attention_scale, 0.015625f);
  EXPECT_EQ(config.logit_divisor, 8.0f);
  expect_error(granite({{"logits_scaling", 0}}), {"logits_scaling"}, ErrorCode::kBadFile);
  expect_error(granite({{"num_local_experts", 4}}), {"num_local_experts"});
}

}  // namespace
}  // namespace pando::model::granite_test
