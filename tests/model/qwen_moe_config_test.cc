// Configurations of the mixtures of experts of Qwen.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/experts_json.h"
#include "model/family.h"

namespace pando::model::qwen_moe_test {
namespace {

using namespace experts_json;

json qwen3(const json& change = json::object()) {
  json object = decoder("Qwen3MoeForCausalLM", "qwen3_moe", {{"moe_intermediate_size", 40}});
  object.update(change);
  return object;
}

TEST(ExpertsConfig, ReadsQwen2) {
  const auto qwen2 = [](const json& change) {
    json object = decoder("Qwen2MoeForCausalLM", "qwen2_moe", {{"moe_intermediate_size", 24}});
    object.update(change);
    return object;
  };
  const ModelConfig usual = read(qwen2({{"sliding_window", 4096}, {"max_window_layers", 2}}));
  EXPECT_EQ(
      usual.experts,
      (ExpertsConfig{
          .n_experts = 60, .n_used = 4, .d_ff = 24, .shared_d_ff = 5632, .shared_gate = true}));
  EXPECT_EQ(mixtures(usual), (Ints{0, 1, 2, 3}));
  EXPECT_TRUE(usual.qkv_bias && !usual.o_bias);
  EXPECT_EQ(usual.qk_norm, QkNorm::kNone);
  EXPECT_EQ(usual.layers[0].window, 0);
  const ModelConfig other = read(qwen2({{"qkv_bias", false},
                                        {"norm_topk_prob", true},
                                        {"shared_expert_intermediate_size", 28},
                                        {"decoder_sparse_step", 2},
                                        {"mlp_only_layers", {1}}}));
  EXPECT_EQ(mixtures(other), Ints{3});
  EXPECT_TRUE(other.experts.renormalised && !other.qkv_bias);
  EXPECT_EQ(other.experts.shared_d_ff, 28);
  expect_error(qwen2({{"use_sliding_window", true}}), {"'use_sliding_window' is true"},
               ErrorCode::kUnsupported);
  const json slides = {"full_attention", "sliding_attention", "full_attention", "full_attention"};
  expect_error(qwen2({{"layer_types", slides}}), {"'layer_types[1]' is \"sliding_attention\""},
               ErrorCode::kUnsupported);
}

TEST(ExpertsConfig, ReadsQwen3) {
  const ModelConfig usual = read(qwen3());
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 128, .n_used = 8, .d_ff = 40}));
  EXPECT_EQ(mixtures(usual), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(usual.head_dim, 16);
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(usual.layers[0].window, 0);
  const ModelConfig config = read(qwen3({{"num_local_experts", 6},
                                         {"num_experts_per_tok", 3},
                                         {"norm_topk_prob", true},
                                         {"mlp_only_layers", {2}},
                                         {"sliding_window", 4096}}));
  EXPECT_EQ(config.experts,
            (ExpertsConfig{.n_experts = 6, .n_used = 3, .d_ff = 40, .renormalised = true}));
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 3}));
  EXPECT_EQ(mixtures(read(qwen3({{"decoder_sparse_step", 2}}))), (Ints{1, 3}));
  EXPECT_EQ(mixtures(read(qwen3({{"num_experts", 0}}))), Ints());
}

TEST(ExpertsConfig, RefusesWhatCannotBe) {
  json object = qwen3();
  object.erase("moe_intermediate_size");
  expect_error(object, {"moe_intermediate_size"});
  expect_error(qwen3({{"num_experts_per_tok", 129}}), {"'num_experts_per_tok' is 129", "128"});
  expect_error(qwen3({{"num_experts", 8}, {"num_local_experts", 9}}),
               {"'num_local_experts' is 9", "the value of 'num_experts'"});
  expect_error(qwen3({{"moe_intermediate_size", 41}}), {"moe_intermediate_size", "multiple of 2"});
  expect_error(qwen3({{"mlp_only_layers", {4}}}), {"mlp_only_layers", "below 4"});
  expect_error(qwen3({{"mlp_only_layers", 1}}), {"mlp_only_layers", "a list"});
  expect_error(qwen3({{"use_sliding_window", true}}), {"use_sliding_window"},
               ErrorCode::kUnsupported);
  expect_error(qwen3({{"hidden_act", "gelu"}}), {"hidden_act"}, ErrorCode::kUnsupported);
}

// As published: beside a part that reads images.
TEST(ExpertsConfig, ReadsTheTextPartOfQwen3Vl) {
  json text = decoder(
      "", "qwen3_vl_moe_text",
      {{"moe_intermediate_size", 40},
       {"num_experts", 6},
       {"num_experts_per_tok", 3},
       {"mlp_only_layers", {2}},
       {"rope_scaling",
        {{"rope_type", "default"}, {"mrope_interleaved", true}, {"mrope_section", {4, 2, 2}}}}});
  text.erase("architectures");
  const auto whole = [](const json& part) {
    return json{{"architectures", {"Qwen3VLMoeForConditionalGeneration"}},
                {"model_type", "qwen3_vl_moe"},
                {"tie_word_embeddings", false},
                {"text_config", part},
                {"vision_config", {{"depth", 27}}}};
  };
  const ModelConfig config = read(whole(text));
  EXPECT_EQ(config.family, find_family("qwen3_vl_moe_text"));
  EXPECT_EQ(config.experts,
            (ExpertsConfig{.n_experts = 6, .n_used = 3, .d_ff = 40, .renormalised = true}));
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 3}));
  EXPECT_EQ(config.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(config.rotations[0].theta, 5e5);
  EXPECT_FALSE(config.tied_embeddings);
  for (const int square : {32, 64}) {
    json one = text;
    one["moe_intermediate_size"] = square;
    expect_error(whole(one), {"moe_intermediate_size", "neither 'hidden_size' 64 nor half"},
                 ErrorCode::kUnsupported);
  }
  text["norm_topk_prob"] = false;
  expect_error(whole(text), {"'norm_topk_prob' is false", "expected true"},
               ErrorCode::kUnsupported);
}

TEST(ExpertsConfig, ReadsQwen3_5) {
  json text = decoder("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text",
                      {{"moe_intermediate_size", 24}, {"num_experts", 16}});
  text.erase("intermediate_size");
  const ModelConfig config = read(text);
  EXPECT_EQ(config.experts, (ExpertsConfig{.n_experts = 16,
                                           .n_used = 8,
                                           .d_ff = 24,
                                           .shared_d_ff = 512,
                                           .shared_gate = true,
                                           .renormalised = true}));
  EXPECT_TRUE(config.recurrent.heads_interleaved);
  text.erase("architectures");
  const ModelConfig wrapped = read({{"architectures", {"Qwen3_5MoeForConditionalGeneration"}},
                                    {"model_type", "qwen3_5_moe"},
                                    {"text_config", text}});
  EXPECT_EQ(wrapped, config);
}

TEST(ExpertsConfig, ReadsQwen3Next) {
  const ModelConfig config =
      read(decoder("Qwen3NextForCausalLM", "qwen3_next", {{"moe_intermediate_size", 24}}));
  EXPECT_EQ(config.experts.n_experts, 512);
  EXPECT_EQ(config.experts.n_used, 10);
  EXPECT_EQ(config.experts.shared_d_ff, 512);
  EXPECT_TRUE(config.experts.renormalised && config.experts.shared_gate);
}

}  // namespace
}  // namespace pando::model::qwen_moe_test
