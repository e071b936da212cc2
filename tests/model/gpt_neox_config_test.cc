// GPT-NeoX and Pythia.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "exec/share.h"
#include "model/config_json.h"
#include "model/family.h"
#include "model/gguf_model.h"
#include "model/weight_specs.h"

namespace pando::model::gpt_neox_test {
namespace {

using config_json::expect_error;
using config_json::read;
using nlohmann::json;

// As published files have them.
json gpt_neox(const json& change = json::object()) {
  json object = config_json::decoder("GPTNeoXForCausalLM", "gpt_neox",
                                     {{"hidden_act", "gelu"},
                                      {"layer_norm_eps", 1e-5},
                                      {"rotary_pct", 0.25},
                                      {"rotary_emb_base", 10000},
                                      {"use_parallel_residual", true}});
  object.erase("num_key_value_heads");
  object.update(change);
  return object;
}

TEST(GptNeoXConfig, ReadsWhatPublishedFilesHave) {
  const ModelConfig usual = read(gpt_neox());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias && usual.qkv_bias && usual.o_bias && usual.feed_forward_bias);
  EXPECT_FALSE(usual.head_bias || usual.tied_embeddings);
  EXPECT_TRUE(usual.parallel);
  EXPECT_EQ(usual.activation, Activation::kUngatedGelu);
  EXPECT_EQ(usual.n_inner(), 1);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.n_kv_heads, 4);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 4);
  EXPECT_EQ(usual.rotations[0].theta, 10000.0);
}

TEST(GptNeoXConfig, HasTheDefaultsOfTheLibrary) {
  json object = gpt_neox();
  for (const char* name :
       {"hidden_act", "layer_norm_eps", "rotary_pct", "rotary_emb_base", "use_parallel_residual"})
    object.erase(name);
  EXPECT_EQ(read(object), read(gpt_neox()));
}

TEST(GptNeoXConfig, ReadsOtherValues) {
  const ModelConfig config = read(gpt_neox({{"use_parallel_residual", false},
                                            {"attention_bias", false},
                                            {"hidden_act", "gelu_fast"},
                                            {"layer_norm_eps", 1e-3},
                                            {"rotary_pct", 0.5},
                                            {"rotary_emb_base", 500},
                                            {"tie_word_embeddings", true}}));
  EXPECT_FALSE(config.parallel || config.qkv_bias || config.o_bias);
  EXPECT_TRUE(config.feed_forward_bias && config.tied_embeddings);
  EXPECT_EQ(config.activation, Activation::kUngatedGeluTanh);
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 8);
  EXPECT_EQ(config.rotations[0].theta, 500.0);
  // As newer files have them.
  json newer = gpt_neox({{"rope_parameters",
                          {{"rope_type", "linear"},
                           {"factor", 2.0},
                           {"rope_theta", 700.0},
                           {"partial_rotary_factor", 0.5}}}});
  newer.erase("rotary_pct");
  newer.erase("rotary_emb_base");
  const RopeConfig rope = read(newer).rotations[0];
  EXPECT_EQ(rope.type, RopeType::kLinear);
  EXPECT_EQ(rope.theta, 700.0);
  EXPECT_EQ(rope.rotary_share, 0.5);
}

TEST(GptNeoXConfig, RefusesWhatItDoesNotCompute) {
  expect_error(gpt_neox({{"hidden_act", "silu"}}), {"'hidden_act' is \"silu\"", "\"gelu\""});
  expect_error(gpt_neox({{"hidden_act", "quick_gelu"}}), {"hidden_act", "\"gelu\""});
  expect_error(gpt_neox({{"num_key_value_heads", 2}}), {"'num_key_value_heads' is 2", "4"});
  expect_error(gpt_neox({{"head_dim", 32}}), {"'head_dim' is 32", "64 / 'num_attention_heads' 4"});
  expect_error(gpt_neox({{"sliding_window", 64}}), {"sliding_window"});
  expect_error(gpt_neox({{"partial_rotary_factor", 0.5}}), {"'rotary_pct' is 0.25", "0.5"},
               ErrorCode::kBadFile);
  expect_error(gpt_neox({{"rope_theta", 500.0}}), {"'rotary_emb_base' is 10000", "500"},
               ErrorCode::kBadFile);
  expect_error(gpt_neox({{"rotary_pct", 1.5}}), {"'rotary_pct' is 1.5", "(0, 1]"},
               ErrorCode::kBadFile);
}

std::vector<std::string> layer_names(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const WeightSpec& spec : config.family->layer_weights(config, 1)) names.push_back(spec.name);
  return names;
}

TEST(GptNeoXConfig, NamesItsTensors) {
  const std::string layer = "model.layers.1.";
  EXPECT_EQ(
      layer_names(read(gpt_neox())),
      (std::vector<std::string>{
          layer + "input_layernorm.weight", layer + "input_layernorm.bias",
          layer + "attention.query_key_value.weight", layer + "attention.query_key_value.bias",
          layer + "attention.dense.weight", layer + "attention.dense.bias",
          layer + "post_attention_layernorm.weight", layer + "post_attention_layernorm.bias",
          layer + "mlp.dense_h_to_4h.weight", layer + "mlp.dense_h_to_4h.bias",
          layer + "mlp.dense_4h_to_h.weight", layer + "mlp.dense_4h_to_h.bias"}));
  EXPECT_EQ(layer_names(read(gpt_neox({{"attention_bias", false}}))).size(), 10u);
  std::vector<WeightSpec> ends = end_specs(read(gpt_neox()));
  std::erase_if(ends, [](const WeightSpec& spec) { return spec.role != Role::kFinalNorm; });
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].name, "model.final_layer_norm.weight");
  EXPECT_EQ(ends[1].name, "model.final_layer_norm.bias");
}

// Query, key and value of a head lie together; here all queries come first.
TEST(GptNeoXConfig, OrdersTheRowsOfHeads) {
  const ModelConfig config = read(gpt_neox());  // 4 heads of 16 channels
  const RowOrder rows = config.family->layer_weights(config, 0)[2].rows;
  const std::map<int64_t, int64_t> stored = {{0, 0},    {15, 15},  {16, 48},   {63, 159},
                                             {64, 16},  {80, 64},  {127, 175}, {128, 32},
                                             {144, 80}, {191, 191}};
  for (const auto& [row, expected] : stored) EXPECT_EQ(rows.stored(row), expected) << row;
}

// Biases of divided outputs are divided in the same way; biases of sums are not.
TEST(GptNeoXConfig, DividesBiases) {
  const ModelConfig config = named_shape("tiny-gpt-neox").value();
  using Ranges = std::vector<std::pair<int, int>>;
  const auto rows = [&](Role part, int n) {
    return exec::rows_of_share(config, /*layer=*/0, part, n, {.rank = 1, .n_ranks = 2});
  };
  EXPECT_EQ(rows(Role::kGateUpBias, 152), (Ranges{{76, 152}}));
  EXPECT_EQ(rows(Role::kGateUp, 152), (Ranges{{76, 152}}));
  EXPECT_EQ(rows(Role::kDownBias, 64), (Ranges{{0, 64}}));
  EXPECT_EQ(rows(Role::kQkvBias, 192), (Ranges{{32, 64}, {96, 128}, {160, 192}}));
}

// Published checkpoints have the masks of attention too.
TEST(GptNeoXConfig, PassesOverMasks) {
  const ModelConfig config = named_shape("tiny-gpt-neox").value();
  const auto part = [&](const char* tensor) { return config.family->passed_over(config, tensor); };
  EXPECT_EQ(part("model.layers.1.attention.bias"), "attention mask");
  EXPECT_EQ(part("model.layers.1.attention.masked_bias"), "attention mask");
  EXPECT_EQ(part("model.layers.1.attention.dense.bias"), "");
}

class GptNeoXGguf : public GgufModel {};

TEST_F(GptNeoXGguf, SaysWhetherItIsParallel) {
  for (const bool parallel : {true, false}) {
    make("tiny-gpt-neox", DType::kF32);
    json object = json::parse(ModelConfig::load(folder_.path())->to_json(DType::kF32));
    object["use_parallel_residual"] = parallel;
    folder_.write("config.json", object.dump());
    const ModelConfig of_checkpoint = ModelConfig::load(folder_.path()).value();
    EXPECT_EQ(of_checkpoint.parallel, parallel);
    EXPECT_EQ(ModelConfig::load(convert({.matrices = DType::kF32})).value(), of_checkpoint);
  }
}

TEST_F(GptNeoXGguf, MustSayWhetherItIsParallel) {
  GgufWriter out;
  out.string("general.architecture", "gptneox")
      .uint32("gptneox.embedding_length", 64)
      .uint32("gptneox.block_count", 2)
      .uint32("gptneox.attention.head_count", 4)
      .uint32("gptneox.feed_forward_length", 152)
      .uint32("gptneox.context_length", 512)
      .float32("gptneox.attention.layer_norm_epsilon", 1e-5f)
      .tensor("token_embd.weight", {1, 64}, 0, std::string(256, '\0'));
  const Result<ModelConfig> config = ModelConfig::load(folder_.write("bad.gguf", out.bytes()));
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kBadFile);
  for (const char* word : {"gptneox.use_parallel_residual", "true or false"})
    EXPECT_NE(config.error().message().find(word), std::string::npos) << config.error().message();
}

}  // namespace
}  // namespace pando::model::gpt_neox_test
