// Configurations of MiniMax-M2.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::minimax_m2_test {
namespace {

using config_json::expect_error;
using config_json::read;
using nlohmann::json;

// As published, without the type of its weights.
json published(const json& change = json::object()) {
  json object = {{"architectures", {"MiniMaxM2ForCausalLM"}},
                 {"attn_type_list", std::vector<int>(62, 1)},
                 {"bos_token_id", nullptr},
                 {"eos_token_id", 200020},
                 {"head_dim", 128},
                 {"hidden_act", "silu"},
                 {"hidden_size", 3072},
                 {"intermediate_size", 1536},
                 {"max_position_embeddings", 196608},
                 {"model_type", "minimax_m2"},
                 {"num_attention_heads", 48},
                 {"num_experts_per_tok", 8},
                 {"num_hidden_layers", 62},
                 {"num_key_value_heads", 8},
                 {"num_local_experts", 256},
                 {"num_mtp_modules", 3},
                 {"qk_norm_type", "per_layer"},
                 {"rms_norm_eps", 1e-6},
                 {"rope_theta", 5000000},
                 {"rotary_dim", 64},
                 {"scoring_func", "sigmoid"},
                 {"shared_intermediate_size", 0},
                 {"tie_word_embeddings", false},
                 {"use_mtp", true},
                 {"use_qk_norm", true},
                 {"use_routing_bias", true},
                 {"vocab_size", 200064}};
  object.update(change);
  return object;
}

json small(const json& change = json::object()) {
  return config_json::decoder("MiniMaxM2ForCausalLM", "minimax_m2", change);
}

TEST(MiniMaxM2Config, ReadsPublishedFiles) {
  EXPECT_EQ(read(published()), named_shape("minimax-m2").value());
}

TEST(MiniMaxM2Config, HasTheDefaultsOfTheLibrary) {
  const ModelConfig config = read(small());
  EXPECT_EQ(config.experts, (ExpertsConfig{.n_experts = 256,
                                           .n_used = 8,
                                           .d_ff = 172,
                                           .scores = RouterScores::kSigmoid,
                                           .renormalised = true,
                                           .choice_bias = true}));
  for (const LayerConfig& layer : config.layers)
    EXPECT_EQ(layer.feed_forward, FeedForward::kExperts);
  EXPECT_EQ(config.qk_norm, QkNorm::kFullWidth);
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(config.rms_eps, 1e-6f);
  EXPECT_EQ(config.rotations[0].theta, 5e6);
  EXPECT_EQ(config.rotations[0].rotary_share, 1.0);
  EXPECT_FALSE(config.tied_embeddings);
}

// Newer files say the share of channels that rotate.
TEST(MiniMaxM2Config, TheChannelsThatRotateAreSaidInTwoWays) {
  EXPECT_EQ(read(small({{"head_dim", 16}, {"rotary_dim", 8}})).rotations[0].rotary_share, 0.5);
  EXPECT_EQ(read(small({{"rotary_dim", 32}})).rotations[0].rotary_share, 0.25);
  const json rope = {{"rope_type", "default"}, {"rope_theta", 7e5}, {"partial_rotary_factor", 0.5}};
  EXPECT_EQ(read(small({{"head_dim", 16}, {"rope_parameters", rope}})).rotations[0],
            (RopeConfig{.theta = 7e5, .rotary_share = 0.5}));
  EXPECT_EQ(read(small({{"head_dim", 16}, {"rope_parameters", rope}, {"rotary_dim", 8}})),
            read(small({{"head_dim", 16}, {"rope_parameters", rope}})));
  expect_error(small({{"head_dim", 16}, {"rope_parameters", rope}, {"rotary_dim", 4}}),
               {"'rotary_dim' is 4", "expected 8, as 'partial_rotary_factor' says"},
               ErrorCode::kBadFile);
  expect_error(small({{"head_dim", 16}, {"rotary_dim", 20}}), {"'rotary_dim' is 20", "16"},
               ErrorCode::kBadFile);
}

TEST(MiniMaxM2Config, RefusesOtherLayers) {
  expect_error(published({{"attn_type_list", {1, 0}}}), {"attn_type_list", "a list of 1"});
  expect_error(published({{"attn_type_list", 1}}), {"attn_type_list", "a list of 1"});
  expect_error(published({{"scoring_func", "softmax"}}),
               {"'scoring_func' is \"softmax\"", "sigmoid"});
  expect_error(published({{"qk_norm_type", "per_head"}}), {"qk_norm_type", "per_layer"});
  expect_error(published({{"use_qk_norm", false}}), {"use_qk_norm", "expected true"});
  expect_error(published({{"use_routing_bias", false}}), {"use_routing_bias", "expected true"});
  expect_error(published({{"shared_intermediate_size", 64}}), {"shared_intermediate_size"});
  expect_error(published({{"layernorm_mlp_beta", 3.5}}), {"layernorm_mlp_beta", "expected 1"});
  expect_error(published({{"sliding_window", 4096}}), {"sliding_window"});
  expect_error(published({{"attention_bias", true}}), {"attention_bias"});
  expect_error(published({{"num_local_experts", 0}}), {"num_local_experts", "at least 1"},
               ErrorCode::kBadFile);
}

}  // namespace
}  // namespace pando::model::minimax_m2_test
