// Configurations of models with mixtures of experts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"
#include "model/share.h"
#include "model/test_files.h"
#include "model/weight_specs.h"

namespace pando::model::experts_test {
namespace {

using config_json::decoder;
using config_json::read;
using nlohmann::json;

json qwen3(const json& change = json::object()) {
  json object = decoder("Qwen3MoeForCausalLM", "qwen3_moe", {{"moe_intermediate_size", 40}});
  object.update(change);
  return object;
}

void expect_error(const json& object, const std::vector<std::string>& words,
                  ErrorCode code = ErrorCode::kBadFile) {
  config_json::expect_error(object, words, code);
}

std::vector<int> mixtures(const ModelConfig& config) {
  std::vector<int> all;
  for (int i = 0; i < config.n_layers(); ++i)
    if (config.layers[i].feed_forward == FeedForward::kExperts) all.push_back(i);
  return all;
}

using Ints = std::vector<int>;

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

TEST(ExpertsConfig, ReadsDots1) {
  const auto dots = [](const json& change = json::object()) {
    json object = decoder("Dots1ForCausalLM", "dots1",
                          {{"n_routed_experts", 8},
                           {"n_shared_experts", 2},
                           {"num_experts_per_tok", 3},
                           {"moe_intermediate_size", 24}});
    object.update(change);
    return object;
  };
  const ExpertsConfig usual = {.n_experts = 8,
                               .n_used = 3,
                               .d_ff = 24,
                               .shared_d_ff = 48,
                               .scores = RouterScores::kSigmoid,
                               .choice_bias = true,
                               .n_group_best = 2};
  EXPECT_EQ(read(dots()).experts, usual);
  EXPECT_EQ(read(dots()).qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(read(dots()).layers[3].window, 0);
  EXPECT_EQ(mixtures(read(dots())), (Ints{0, 1, 2, 3}));
  const ModelConfig config = read(dots({{"first_k_dense_replace", 1},
                                        {"norm_topk_prob", true},
                                        {"routed_scaling_factor", 2.5},
                                        {"sliding_window", nullptr},
                                        {"max_window_layers", 2}}));
  EXPECT_EQ(mixtures(config), (Ints{1, 2, 3}));
  EXPECT_TRUE(config.experts.renormalised);
  EXPECT_EQ(config.experts.weight_scale, 2.5f);
  expect_error(dots({{"max_window_layers", 2}}),
               {"'max_window_layers' is 2", "at least 4, the number of layers"},
               ErrorCode::kUnsupported);
  const json slides = {"full_attention", "full_attention", "full_attention", "sliding_attention"};
  expect_error(dots({{"layer_types", slides}}), {"layer_types", "sliding_attention"},
               ErrorCode::kUnsupported);
  EXPECT_EQ(read(dots({{"scoring_func", "noaux_tc"}})), read(dots()));  // as published
  expect_error(dots({{"scoring_func", "softmax"}}), {"scoring_func"}, ErrorCode::kUnsupported);
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

TEST(ExpertsConfig, ReadsMixtral) {
  const ModelConfig usual = read(decoder("MixtralForCausalLM", "mixtral", json::object()));
  EXPECT_EQ(usual.experts,
            (ExpertsConfig{.n_experts = 8, .n_used = 2, .d_ff = 172, .renormalised = true}));
  EXPECT_EQ(usual.rotations[0].theta, 1e6);
  EXPECT_EQ(usual.layers[3].window, 0);
  EXPECT_EQ(
      read(decoder("MixtralForCausalLM", "mixtral", {{"sliding_window", 30}})).layers[3].window,
      30);
}

TEST(ExpertsConfig, ReadsOlmoe) {
  const ModelConfig usual = read(decoder("OlmoeForCausalLM", "olmoe", {{"num_experts", 16}}));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 16, .n_used = 8, .d_ff = 172}));
  EXPECT_EQ(usual.qk_norm, QkNorm::kFullWidth);
  expect_error(decoder("OlmoeForCausalLM", "olmoe", {{"clip_qkv", 8.0}}), {"clip_qkv"},
               ErrorCode::kUnsupported);
}

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

TEST(ExpertsConfig, ReadsPhiMoe) {
  const auto phi = [](const json& change) {
    return decoder("PhimoeForCausalLM", "phimoe", change);
  };
  const ModelConfig usual = read(phi({{"lm_head_bias", true}, {"attention_bias", true}}));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 16,
                                          .n_used = 2,
                                          .d_ff = 172,
                                          .scores = RouterScores::kSparseMixer,
                                          .mixer_jitter = 0.01f}));
  // As the published files call it.
  EXPECT_EQ(read(phi({{"architectures", {"PhiMoEForCausalLM"}},
                      {"lm_head_bias", true},
                      {"attention_bias", true}})),
            usual);
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias && usual.head_bias && usual.qkv_bias && usual.o_bias);
  const json ones = {1, 1, 1, 1, 1, 1, 1, 1};
  json scaling = {{"type", "longrope"},
                  {"short_factor", ones},
                  {"long_factor", ones},
                  {"short_mscale", 1.243},
                  {"long_mscale", 1.243}};
  const json sizes = {{"original_max_position_embeddings", 128}, {"rope_scaling", scaling}};
  EXPECT_EQ(read(phi(sizes)).rotations[0].attention_factor, 1.243);
  scaling["long_mscale"] = 1.3;
  expect_error(phi({{"original_max_position_embeddings", 128}, {"rope_scaling", scaling}}),
               {"'long_mscale' is 1.3", "short_mscale"}, ErrorCode::kUnsupported);
  expect_error(phi({{"num_experts_per_tok", 3}}), {"num_experts_per_tok", "expected 2"},
               ErrorCode::kUnsupported);
}

json gemma4(const json& change = json::object()) {
  json object = decoder("Gemma4ForCausalLM", "gemma4_text",
                        {{"hidden_size_per_layer_input", 0},
                         {"enable_moe_block", true},
                         {"num_experts", 6},
                         {"top_k_experts", 2},
                         {"moe_intermediate_size", 40}});
  object.update(change);
  return object;
}

TEST(ExpertsConfig, ReadsGemma4) {
  const ModelConfig config = read(gemma4());
  EXPECT_EQ(
      config.experts,
      (ExpertsConfig{
          .n_experts = 6, .n_used = 2, .d_ff = 40, .shared_d_ff = 172, .renormalised = true}));
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 2, 3}));
  // Without the block, the library has no experts.
  EXPECT_EQ(mixtures(read(gemma4({{"enable_moe_block", false}}))), Ints());
  for (const char* name : {"num_experts", "top_k_experts", "moe_intermediate_size"})
    expect_error(gemma4({{name, nullptr}}), {name});
  expect_error(gemma4({{"num_experts", 0}}), {"num_experts", "at least 1"});
  expect_error(gemma4({{"top_k_experts", 7}}), {"'top_k_experts' is 7", "6"});
  expect_error(
      gemma4({{"layer_types",
               {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}},
              {"num_kv_shared_layers", 2},
              {"use_double_wide_mlp", true}}),
      {"use_double_wide_mlp", "experts"}, ErrorCode::kUnsupported);
}

// As the model of 26 billion parameters is published.
TEST(ExpertsConfig, ReadsGemma4InsideALargerModel) {
  const ModelConfig whole = read({{"model_type", "gemma4"},
                                  {"architectures", {"Gemma4ForConditionalGeneration"}},
                                  {"tie_word_embeddings", true},
                                  {"text_config",
                                   {{"model_type", "gemma4_text"},
                                    {"hidden_size", 2816},
                                    {"intermediate_size", 2112},
                                    {"num_hidden_layers", 30},
                                    {"num_attention_heads", 16},
                                    {"num_key_value_heads", 8},
                                    {"head_dim", 256},
                                    {"global_head_dim", 512},
                                    {"num_global_key_value_heads", 2},
                                    {"attention_k_eq_v", true},
                                    {"enable_moe_block", true},
                                    {"num_experts", 128},
                                    {"top_k_experts", 8},
                                    {"moe_intermediate_size", 704},
                                    {"sliding_window", 1024},
                                    {"final_logit_softcapping", 30.0},
                                    {"hidden_size_per_layer_input", 0},
                                    {"max_position_embeddings", 262144},
                                    {"bos_token_id", 2},
                                    {"eos_token_id", {1, 106}}}},
                                  {"vision_config", json::object()},
                                  {"audio_config", nullptr}});
  EXPECT_EQ(whole, *named_shape("gemma-4-26b-a4b"));
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

TEST(ExpertsConfig, ReadsLfm2) {
  const auto lfm2 = [](const json& change) {
    json object = decoder("Lfm2MoeForCausalLM", "lfm2_moe",
                          {{"moe_intermediate_size", 40},
                           {"layer_types", {"conv", "conv", "full_attention", "conv"}}});
    object.update(change);
    return object;
  };
  const ModelConfig usual = read(lfm2(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 32,
                                          .n_used = 4,
                                          .d_ff = 40,
                                          .scores = RouterScores::kSigmoid,
                                          .renormalised = true,
                                          .choice_bias = true}));
  EXPECT_EQ(mixtures(usual), (Ints{2, 3}));
  EXPECT_EQ(usual.d_ff, 172);
  EXPECT_EQ(usual.layers[1].mixer, Mixer::kShortConv);
  EXPECT_EQ(usual.layers[2].mixer, Mixer::kAttention);
  EXPECT_EQ(usual.recurrent.conv_taps, 3);
  EXPECT_EQ(usual.rotations[0].theta, 1e6);
  EXPECT_TRUE(usual.tied_embeddings);
  const ModelConfig other = read(lfm2({{"num_dense_layers", 0},
                                       {"use_expert_bias", false},
                                       {"norm_topk_prob", false},
                                       {"routed_scaling_factor", 1.5},
                                       {"tie_embedding", false}}));
  EXPECT_EQ(mixtures(other), (Ints{0, 1, 2, 3}));
  EXPECT_FALSE(other.experts.choice_bias || other.experts.renormalised || other.tied_embeddings);
  EXPECT_EQ(other.experts.weight_scale, 1.5f);
  EXPECT_EQ(mixtures(read(lfm2({{"num_dense_layers", 4}}))), Ints());
  expect_error(lfm2({{"conv_bias", true}}), {"'conv_bias' is true"}, ErrorCode::kUnsupported);
  expect_error(lfm2({{"sliding_window", 64}}), {"'sliding_window' is 64", "lfm2_moe"},
               ErrorCode::kUnsupported);
  expect_error(lfm2({{"routed_scaling_factor", 0}}), {"'routed_scaling_factor' is 0"});
}

TEST(ExpertsConfig, ReadsGlm4) {
  const auto glm = [](const json& change) {
    return decoder("Glm4MoeForCausalLM", "glm4_moe", change);
  };
  const ModelConfig usual = read(glm(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 128,
                                          .n_used = 8,
                                          .d_ff = 1408,
                                          .shared_d_ff = 1408,
                                          .scores = RouterScores::kSigmoid,
                                          .renormalised = true,
                                          .choice_bias = true,
                                          .n_group_best = 2}));
  EXPECT_EQ(mixtures(usual), (Ints{1, 2, 3}));
  EXPECT_EQ(usual.rotations[0].rotary_share, 0.5);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.qk_norm, QkNorm::kNone);
  EXPECT_FALSE(usual.qkv_bias);
  const ModelConfig other = read(glm({{"use_qk_norm", true},
                                      {"attention_bias", true},
                                      {"partial_rotary_factor", 0.25},
                                      {"first_k_dense_replace", 3},
                                      {"n_routed_experts", 8},
                                      {"n_shared_experts", 0},
                                      {"num_experts_per_tok", 2},
                                      {"moe_intermediate_size", 24},
                                      {"routed_scaling_factor", 2.5},
                                      {"norm_topk_prob", false},
                                      {"n_group", 4},
                                      {"topk_group", 3}}));
  EXPECT_EQ(other.qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(other.qkv_bias && !other.o_bias);
  EXPECT_EQ(other.rotations[0].rotary_share, 0.25);
  EXPECT_EQ(mixtures(other), Ints{3});
  EXPECT_EQ(other.experts, (ExpertsConfig{.n_experts = 8,
                                          .n_used = 2,
                                          .d_ff = 24,
                                          .scores = RouterScores::kSigmoid,
                                          .weight_scale = 2.5f,
                                          .choice_bias = true,
                                          .n_groups = 4,
                                          .n_groups_used = 3,
                                          .n_group_best = 2}));
  expect_error(glm({{"scoring_func", "softmax"}}), {"'scoring_func' is \"softmax\""},
               ErrorCode::kUnsupported);
  expect_error(glm({{"n_routed_experts", 10}, {"n_group", 4}, {"topk_group", 2}}),
               {"'num_experts' is 10", "'n_group' 4"});
  expect_error(glm({{"sliding_window", 64}}), {"'sliding_window' is 64", "glm4_moe"},
               ErrorCode::kUnsupported);
}

TEST(ExpertsConfig, ReadsErnie) {
  const auto ernie = [](const json& change) {
    return decoder("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", change);
  };
  const ModelConfig usual = read(ernie(json::object()));
  EXPECT_EQ(usual.experts, (ExpertsConfig{.n_experts = 64,
                                          .n_used = 6,
                                          .d_ff = 1536,
                                          .shared_d_ff = 3072,
                                          .renormalised = true,
                                          .choice_bias = true}));
  EXPECT_EQ(mixtures(usual), (Ints{1, 2, 3}));
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_TRUE(usual.tied_embeddings);
  const json few = {{"moe_num_experts", 8}, {"moe_k", 2}, {"moe_intermediate_size", 24}};
  const auto layers = [&](json change) {
    change.update(few);
    return mixtures(read(ernie(change)));
  };
  EXPECT_EQ(layers({{"moe_layer_start_index", 0}}), (Ints{0, 1, 2, 3}));
  EXPECT_EQ(layers({{"moe_layer_interval", 2}}), (Ints{1, 3}));
  EXPECT_EQ(layers({{"moe_layer_interval", 3}}), Ints{2});
  EXPECT_EQ(layers({{"moe_layer_end_index", 2}}), (Ints{1, 2}));
  EXPECT_EQ(layers({{"moe_layer_start_index", 4}}), Ints());
  EXPECT_EQ(read(ernie({{"moe_num_shared_experts", 0}})).experts.shared_d_ff, 0);
  expect_error(ernie({{"moe_layer_interval", 0}}), {"'moe_layer_interval' is 0"});
  for (const json& change : {json{{"use_bias", true}}, json{{"moe_use_aux_free", false}},
                             json{{"moe_gate_act", "sigmoid"}}, json{{"moe_norm_min", 1e-6}}})
    expect_error(ernie(change), {change.begin().key()}, ErrorCode::kUnsupported);
  expect_error(ernie({{"moe_num_shared_experts", 1000}}),
               {"'moe_num_shared_experts' is 1000", "inner channels"});
  const Family& family = *usual.family;
  EXPECT_EQ(family.passed_over(usual, "model.mtp_block.0.mlp.gate_proj.weight"),
            "multi-token prediction");
  EXPECT_EQ(family.passed_over(usual, "model.layers.4.mlp.gate_proj.weight"), "");
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

TEST(ExpertsConfig, ReadsHunYuan) {
  const auto hunyuan = [](const json& change) {
    return decoder("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", change);
  };
  const auto four = [](int n) { return json{n, n, n, n}; };
  const ModelConfig usual = read(hunyuan(json::object()));
  EXPECT_EQ(
      usual.experts,
      (ExpertsConfig{
          .n_experts = 1, .n_used = 1, .d_ff = 172, .shared_d_ff = 172, .renormalised = true}));
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHeadTurned);
  // As the published model has it.
  const ModelConfig config =
      read(hunyuan({{"num_experts", 64},
                    {"moe_topk", four(8)},
                    {"moe_intermediate_size", four(172)},
                    {"num_shared_expert", four(1)},
                    {"use_mixed_mlp_moe", true},
                    {"moe_layer_num_skipped", 0},
                    {"kv_lora_rank", nullptr},
                    {"use_mla", false},
                    {"rope_scaling", {{"type", "dynamic"}, {"alpha", 50}}}}));
  EXPECT_EQ(config.experts.n_experts, 64);
  EXPECT_EQ(config.experts.n_used, 8);
  EXPECT_EQ(mixtures(config), (Ints{0, 1, 2, 3}));
  EXPECT_NEAR(config.rotations[0].theta, 1e4 * std::pow(50, 16 / 14.0), 1);
  const json many = {{"num_experts", 64}};
  const auto used = [&](json change) {
    change.update(many);
    return read(hunyuan(change)).experts.n_used;
  };
  EXPECT_EQ(used({{"moe_topk", 3}}), 3);
  EXPECT_EQ(used({{"num_experts_per_tok", 3}}), 3);
  const auto refuse = [&](json change, const std::vector<std::string>& words, ErrorCode code) {
    change.update(many);
    expect_error(hunyuan(change), words, code);
  };
  constexpr ErrorCode kUnsupported = ErrorCode::kUnsupported, kBad = ErrorCode::kBadFile;
  refuse({{"moe_topk", {8, 8, 4, 8}}}, {"'moe_topk[2]' is 4", "8, as in layer 0"}, kUnsupported);
  refuse({{"moe_topk", {8, 8}}}, {"'moe_topk' is", "each of 4 layers"}, kBad);
  refuse({{"moe_topk", four(0)}}, {"'moe_topk[0]' is 0"}, kBad);
  refuse({{"moe_intermediate_size", four(88)}},
         {"'moe_intermediate_size' is", "'intermediate_size' 172"}, kUnsupported);
  refuse({{"num_shared_expert", 2}}, {"'num_shared_expert' is 2", "1"}, kUnsupported);
  refuse({{"moe_layer_num_skipped", 1}}, {"'moe_layer_num_skipped' is 1"}, kUnsupported);
  for (const char* name : {"use_mixed_mlp_moe", "norm_topk_prob", "use_qk_norm"})
    refuse({{name, false}}, {name}, kUnsupported);
  for (const char* name : {"use_mla", "use_cla", "group_limited_greedy"})
    refuse({{name, true}}, {name}, kUnsupported);
}

// Checkpoints have a tensor for each expert; the list names each tensor once.
TEST(ExpertsConfig, PublishedCheckpointsHaveTensorsOfEachExpert) {
  const ModelConfig config = named_shape("tiny-mixtral").value();
  std::vector<std::string> names;
  for (const WeightSpec& spec : checkpoint_specs(config)) names.push_back(spec.name);
  const auto has = [&](const char* name) { return std::ranges::count(names, name) == 1; };
  EXPECT_TRUE(has("model.layers.1.block_sparse_moe.experts.4.w1.weight"));
  EXPECT_TRUE(has("model.layers.0.block_sparse_moe.experts.0.w2.weight"));
  EXPECT_TRUE(has("model.layers.0.block_sparse_moe.gate.weight"));
  EXPECT_FALSE(has("model.layers.0.block_sparse_moe.experts.gate_up_proj"));
}

// Outputs of experts are divided over ranks; the router is not.
TEST(ExpertsConfig, ExpertsDivideOverRanksByOutputs) {
  const ModelConfig config = named_shape("tiny-qwen3-moe").value();  // experts of 40, rows of 64
  using Ranges = std::vector<std::pair<int, int>>;
  const auto rows = [&](LayerPart part, int n) {
    return rows_of_share(config, /*layer=*/0, part, n, {.rank = 1, .n_ranks = 2});
  };
  EXPECT_EQ(rows(&ExpertWeights::gate_up, 80), (Ranges{{20, 40}, {60, 80}}));
  EXPECT_EQ(rows(&ExpertWeights::gate_up_bias, 80), (Ranges{{20, 40}, {60, 80}}));
  EXPECT_EQ(rows(&ExpertWeights::down, 64), (Ranges{{32, 64}}));
  EXPECT_EQ(rows(&ExpertWeights::down_bias, 64), (Ranges{{32, 64}}));
  EXPECT_EQ(rows(&LayerWeights::router, 8), (Ranges{{0, 8}}));
  EXPECT_EQ(config_of_share(config, {.rank = 1, .n_ranks = 2}).experts.d_ff, 20);
}

}  // namespace
}  // namespace pando::model::experts_test
