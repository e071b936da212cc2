// Configurations of models with mixtures of experts.
#include <fmt/format.h>
#include <gtest/gtest.h>

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
