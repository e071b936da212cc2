// Configurations of models with latent attention.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::latent_test {
namespace {

using nlohmann::json;
using namespace config_json;

json latent(const char* architecture, const char* type, const json& change) {
  json object = decoder(architecture, type,
                        {{"num_key_value_heads", 4},
                         {"moe_intermediate_size", 24},
                         {"num_experts_per_tok", 2},
                         {"routed_scaling_factor", 1.5}});
  object.update(change);
  return object;
}

json v2(const json& change = json::object()) {
  return latent("DeepseekV2ForCausalLM", "deepseek_v2", change);
}
json v3(const json& change = json::object()) {
  return latent("DeepseekV3ForCausalLM", "deepseek_v3", change);
}
json glm(const json& change = json::object()) {
  return latent("Glm4MoeLiteForCausalLM", "glm4_moe_lite", change);
}

TEST(LatentConfig, HasTheLibrarysSizesWhereTheFileHasNone) {
  const ModelConfig second = read(v2());
  EXPECT_EQ(
      second.latent,
      (LatentConfig{
          .rank = 512, .query_rank = 1536, .still_dim = 128, .rope_dim = 64, .value_dim = 128}));
  EXPECT_EQ(second.n_kv_heads, 1);
  EXPECT_EQ(second.head_dim, 576);
  EXPECT_EQ(second.attended_dim(0), 4 * 128);
  EXPECT_EQ(second.rms_eps, 1e-6f);
  EXPECT_EQ(read(v3()).latent, second.latent);
  const ModelConfig flash = read(glm());
  EXPECT_EQ(
      flash.latent,
      (LatentConfig{
          .rank = 512, .query_rank = 768, .still_dim = 192, .rope_dim = 64, .value_dim = 256}));
  EXPECT_EQ(flash.rms_eps, 1e-5f);
}

TEST(LatentConfig, ReadsSizes) {
  const ModelConfig config = read(v2({{"kv_lora_rank", 24},
                                      {"q_lora_rank", nullptr},
                                      {"qk_nope_head_dim", 12},
                                      {"qk_rope_head_dim", 8},
                                      {"v_head_dim", 20}}));
  EXPECT_EQ(config.latent,
            (LatentConfig{.rank = 24, .still_dim = 12, .rope_dim = 8, .value_dim = 20}));
  EXPECT_EQ(config.head_dim, 32);
  EXPECT_EQ(config.latent.rope_dim, 8);
  EXPECT_FLOAT_EQ(config.attention_scale, 1.0f / std::sqrt(20.0f));
  expect_error(v2({{"kv_lora_rank", 22}}), {"'kv_lora_rank' is 22", "a multiple of 4"},
               ErrorCode::kBadFile);
  expect_error(v2({{"v_head_dim", 21}}), {"'v_head_dim' is 21", "a multiple of 2"},
               ErrorCode::kBadFile);
  expect_error(v2({{"head_dim", 128}}), {"'head_dim' is 128", "'qk_rope_head_dim' 64"},
               ErrorCode::kBadFile);
  expect_error(v2({{"num_key_value_heads", 2}}),
               {"'num_key_value_heads' is 2", "'num_attention_heads' 4"}, ErrorCode::kBadFile);
  expect_error(v3({{"rope_interleave", false}}), {"'rope_interleave' is false"});
  expect_error(v3({{"attention_bias", true}}), {"'attention_bias' is true"});
}

// The square of 1 + 0.1 * 0.707 * ln(40), as DeepSeek-V2-Lite has it.
TEST(LatentConfig, YarnScalesScores) {
  const json scaling = {{"type", "yarn"},
                        {"factor", 40},
                        {"mscale", 0.707},
                        {"mscale_all_dim", 0.707},
                        {"beta_fast", 32},
                        {"beta_slow", 1},
                        {"original_max_position_embeddings", 4096}};
  const ModelConfig config = read(v2({{"rope_scaling", scaling}}));
  EXPECT_EQ(config.rotations[0].attention_factor, 1.0);
  EXPECT_NEAR(config.attention_scale, 1.2608 * 1.2608 / std::sqrt(192.0), 1e-5);
  // Scores of other families are not scaled by it.
  json llama = decoder("LlamaForCausalLM", "llama", {{"rope_scaling", scaling}});
  EXPECT_EQ(read(llama).rotations[0].score_mscale, 0.0);
}

TEST(LatentConfig, ReadsExperts) {
  const ModelConfig greedy = read(v2({{"first_k_dense_replace", 1}, {"n_shared_experts", 2}}));
  EXPECT_EQ(greedy.layers[0].feed_forward, FeedForward::kDense);
  EXPECT_EQ(greedy.layers[1].feed_forward, FeedForward::kExperts);
  EXPECT_EQ(
      greedy.experts,
      (ExpertsConfig{
          .n_experts = 64, .n_used = 2, .d_ff = 24, .shared_d_ff = 48, .weight_scale = 1.5f}));
  const ModelConfig grouped =
      read(v2({{"topk_method", "group_limited_greedy"}, {"n_group", 8}, {"topk_group", 3}}));
  EXPECT_EQ(grouped.experts.n_groups, 8);
  EXPECT_EQ(grouped.experts.n_groups_used, 3);
  EXPECT_EQ(grouped.experts.n_group_best, 1);
  // Groups of a greedy choice mean nothing.
  EXPECT_EQ(read(v2({{"n_group", 8}, {"topk_group", 3}})).experts.n_groups, 1);
  const ModelConfig third = read(v3({{"first_k_dense_replace", 0}}));
  EXPECT_EQ(third.experts.scores, RouterScores::kSigmoid);
  EXPECT_TRUE(third.experts.choice_bias);
  EXPECT_TRUE(third.experts.renormalised);
  EXPECT_EQ(third.experts.n_groups, 8);
  EXPECT_EQ(third.experts.n_groups_used, 4);
  EXPECT_EQ(third.experts.n_group_best, 2);
  EXPECT_EQ(read(glm()).experts.n_groups, 1);
  EXPECT_FALSE(read(v2({{"first_k_dense_replace", 4}})).has(FeedForward::kExperts));
  expect_error(v2({{"topk_method", "noaux_tc"}}), {"'topk_method' is \"noaux_tc\""});
  expect_error(v2({{"norm_topk_prob", true}}), {"'norm_topk_prob' is true"});
  expect_error(v3({{"scoring_func", "softmax"}}), {"'scoring_func' is \"softmax\""});
  expect_error(v2({{"moe_layer_freq", 2}}), {"'moe_layer_freq' is 2", "1"});
}

TEST(LatentConfig, ReadsWhichLayersOfGlmAreDense) {
  const auto n_dense = [](const json& change) {
    const ModelConfig config = read(glm(change));
    return std::ranges::count(config.layers, FeedForward::kDense, &LayerConfig::feed_forward);
  };
  EXPECT_EQ(n_dense(json::object()), 1);
  EXPECT_EQ(n_dense({{"first_k_dense_replace", 1}}), 1);
  EXPECT_EQ(n_dense({{"mlp_layer_types", {"dense", "dense", "sparse", "sparse"}}}), 2);
  EXPECT_EQ(n_dense({{"mlp_layer_types", {"dense", "dense", "dense", "dense"}}}), 4);
  expect_error(glm({{"mlp_layer_types", {"sparse", "dense", "sparse", "sparse"}}}),
               {"'mlp_layer_types' has dense layers behind sparse ones"});
  expect_error(glm({{"mlp_layer_types", {"dense"}}}), {"'mlp_layer_types' has 1 entries"});
  expect_error(glm({{"first_k_dense_replace", 2}}), {"'first_k_dense_replace' is 2", "expected 1"});
}

}  // namespace
}  // namespace pando::model::latent_test
