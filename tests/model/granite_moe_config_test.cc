// Configurations of Granite with mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"

namespace pando::model::granite_moe_test {
namespace {

using namespace experts_json;

TEST(ExpertsConfig, ReadsGranite) {
  const json multipliers = {{"embedding_multiplier", 12}, {"logits_scaling", 6.0}};
  const ModelConfig plain = read(decoder("GraniteMoeForCausalLM", "granitemoe", multipliers));
  EXPECT_EQ(
      plain.experts,
      (ExpertsConfig{
          .n_experts = 8, .n_used = 2, .d_ff = 172, .scores = RouterScores::kSoftmaxOfChosen}));
  EXPECT_EQ(plain.embedding_scale, 12.0f);
  const auto shared = [](int width) {
    return read(decoder("GraniteMoeSharedForCausalLM", "granitemoeshared",
                        {{"shared_intermediate_size", width}}));
  };
  EXPECT_EQ(shared(96).experts.shared_d_ff, 96);
  EXPECT_FALSE(shared(96).experts.shared_gate);
  EXPECT_EQ(shared(0).experts.shared_d_ff, 0);
  const ModelConfig hybrid =
      read(decoder("GraniteMoeHybridForCausalLM", "granitemoehybrid",
                   {{"layer_types", {"mamba", "attention", "mamba", "mamba"}},
                    {"num_local_experts", 6},
                    {"num_experts_per_tok", 3},
                    {"shared_intermediate_size", 96},
                    {"mamba_n_heads", 8}}));
  EXPECT_EQ(hybrid.experts.n_used, 3);
  EXPECT_EQ(hybrid.experts.d_ff, 172);
  EXPECT_EQ(hybrid.experts.shared_d_ff, 96);
  EXPECT_EQ(mixtures(hybrid), (Ints{0, 1, 2, 3}));
}

}  // namespace
}  // namespace pando::model::granite_moe_test
