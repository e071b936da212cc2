// Configurations of OLMoE.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::olmoe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsOlmoe) {
  const ModelConfig usual = read(decoder("OlmoeForCausalLM", "olmoe", {{"num_experts", 16}}));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 16, .n_used = 8, .d_ff = 172}));
  EXPECT_EQ(usual.qk_norm, QkNorm::kFullWidth);
  expect_error(decoder("OlmoeForCausalLM", "olmoe", {{"clip_qkv", 8.0}}), {"clip_qkv"},
               ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace pando::model::olmoe_test
