// Configurations of the parts of GLM-4.1V and GLM-4.5V that read texts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"
#include "model/weight_specs.h"

namespace pando::model::glm4v_test {
namespace {

using config_json::expect_error;
using config_json::read;
using nlohmann::json;

json whole(const char* type, const char* architecture, const json& text) {
  return {
      {"architectures", {architecture}}, {"model_type", type},
      {"image_token_id", 151343},        {"text_config", text},
      {"tie_word_embeddings", false},    {"vision_config", {{"depth", 24}, {"hidden_size", 1536}}}};
}

// As published.
json dense(const json& change = json::object()) {
  json text = {{"attention_bias", true},
               {"attention_dropout", 0.0},
               {"eos_token_id", {151329, 151336, 151338, 151348}},
               {"hidden_act", "silu"},
               {"hidden_size", 4096},
               {"intermediate_size", 13696},
               {"max_position_embeddings", 65536},
               {"model_type", "glm4v_text"},
               {"num_attention_heads", 32},
               {"num_hidden_layers", 40},
               {"num_key_value_heads", 2},
               {"partial_rotary_factor", 0.5},
               {"rms_norm_eps", 1e-5},
               {"rope_scaling", {{"type", "default"}, {"mrope_section", {8, 12, 12}}}},
               {"rope_theta", 10000.0},
               {"vocab_size", 151552}};
  text.update(change);
  return whole("glm4v", "Glm4vForConditionalGeneration", text);
}

json mixture(const json& change = json::object()) {
  json text = {{"attention_bias", true},
               {"eos_token_id", {151329, 151336, 151338}},
               {"first_k_dense_replace", 1},
               {"head_dim", 128},
               {"hidden_act", "silu"},
               {"hidden_size", 4096},
               {"intermediate_size", 10944},
               {"max_position_embeddings", 65536},
               {"model_type", "glm4v_moe_text"},
               {"moe_intermediate_size", 1408},
               {"n_group", 1},
               {"n_routed_experts", 128},
               {"n_shared_experts", 1},
               {"norm_topk_prob", true},
               {"num_attention_heads", 96},
               {"num_experts_per_tok", 8},
               {"num_hidden_layers", 46},
               {"num_key_value_heads", 8},
               {"partial_rotary_factor", 0.5},
               {"rms_norm_eps", 1e-5},
               {"rope_scaling", {{"rope_type", "default"}, {"mrope_section", {8, 12, 12}}}},
               {"rope_theta", 10000.0},
               {"routed_scaling_factor", 1.0},
               {"topk_group", 1},
               {"use_qk_norm", false},
               {"vocab_size", 151552}};
  text.update(change);
  return whole("glm4v_moe", "Glm4vMoeForConditionalGeneration", text);
}

TEST(Glm4vConfig, ReadsPublishedFiles) {
  EXPECT_EQ(read(dense()), named_shape("glm-4.1v-9b").value());
  EXPECT_EQ(read(mixture()), named_shape("glm-4.5v").value());
}

// Without a share of channels all rotate in GLM-4.1V, and half of them in GLM-4.5V.
TEST(Glm4vConfig, HasTheDefaultsOfTheLibrary) {
  EXPECT_EQ(read(dense({{"partial_rotary_factor", nullptr}})).rotations[0].rotary_share, 1.0);
  json text = mixture()["text_config"];
  for (const char* name : {"partial_rotary_factor", "attention_bias", "n_routed_experts",
                           "moe_intermediate_size", "norm_topk_prob", "topk_group"})
    text.erase(name);
  EXPECT_EQ(read(whole("glm4v_moe", "Glm4vMoeForConditionalGeneration", text)),
            named_shape("glm-4.5v").value());
  text["attention_bias"] = false;
  EXPECT_FALSE(read(whole("glm4v_moe", "Glm4vMoeForConditionalGeneration", text)).qkv_bias);
}

// `true` in the text part ties the head although the whole says `false`, as in the library.
TEST(Glm4vConfig, TheTextPartMayTieTheHead) {
  for (const bool tied : {false, true}) {
    EXPECT_EQ(read(dense({{"tie_word_embeddings", tied}})).tied_embeddings, tied);
    EXPECT_EQ(read(mixture({{"tie_word_embeddings", tied}})).tied_embeddings, tied);
  }
}

TEST(Glm4vConfig, RefusesWhatTheLibraryComputesInAnotherWay) {
  expect_error(dense({{"attention_bias", false}}), {"attention_bias", "expected true"});
  expect_error(dense({{"head_dim", 64}}), {"'head_dim' is 64", "hidden_size"});
  expect_error(dense({{"sliding_window", 4096}}), {"sliding_window"});
  expect_error(dense({{"model_type", "glm4"}}), {"'text_config.model_type' is \"glm4\""});
  expect_error(mixture({{"use_qk_norm", true}}), {"use_qk_norm", "expected false"});
  expect_error(mixture({{"scoring_func", "softmax"}}), {"scoring_func"});
}

// Checkpoints hold the channels of GLM-4.1V that turn together side by side; GGUF files do not.
TEST(Glm4vConfig, OnlyCheckpointsOfTheDenseModelHavePairsOfRows) {
  for (const auto& [shape, pairs] : {std::pair{"tiny-glm4v", true}, {"tiny-glm4v-moe", false}})
    for (const WeightSpec& spec : weight_specs(named_shape(shape).value())) {
      const bool turns = spec.name.find("self_attn.q_proj") != spec.name.npos ||
                         spec.name.find("self_attn.k_proj") != spec.name.npos;
      EXPECT_EQ(spec.rows.keeps(), !(turns && pairs)) << spec.name;
      EXPECT_TRUE(spec.gguf_rows.keeps()) << spec.name;
    }
}

}  // namespace
}  // namespace pando::model::glm4v_test
