// Configurations of models with recurrent layers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"
#include "model/test_files.h"

namespace pando::model::hybrid_test {
namespace {

using nlohmann::json;

using config_json::parse;
using config_json::read;

json decoder(const char* architecture, const char* type) {
  return config_json::decoder(
      architecture, type,
      {{"tie_word_embeddings", true}, {"bos_token_id", 1}, {"eos_token_id", 2}});
}

json qwen3_5() { return decoder("Qwen3_5ForCausalLM", "qwen3_5_text"); }
json lfm2() {
  json object = decoder("Lfm2ForCausalLM", "lfm2");
  object["layer_types"] = {"conv", "conv", "full_attention", "conv"};
  return object;
}
json granite() {
  json object = decoder("GraniteMoeHybridForCausalLM", "granitemoehybrid");
  object.update({{"layer_types", {"mamba", "mamba", "attention", "mamba"}},
                 {"num_local_experts", 0},
                 {"shared_intermediate_size", 96},
                 {"mamba_n_heads", 8}});
  return object;
}

// `change` is merged into a good file; the error must name the file and every word.
void expect_error(json object, const json& change, ErrorCode code, std::vector<std::string> words) {
  object.update(change);
  config_json::expect_error(object, std::move(words), code);
}

std::vector<Mixer> mixers(const ModelConfig& config) {
  std::vector<Mixer> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.mixer);
  return all;
}

constexpr Mixer kA = Mixer::kAttention, kD = Mixer::kDeltaNet, kS = Mixer::kShortConv,
                kM = Mixer::kMamba2;

TEST(HybridConfig, ReadsQwen3_5) {
  json object = qwen3_5();
  ModelConfig config = read(object);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.rotations[0].rotary_share, 0.25);
  EXPECT_EQ(config.qk_norm, QkNorm::kPerHead);
  EXPECT_TRUE(config.attention_gate);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kD, kD, kD, kA}));
  EXPECT_EQ(config.recurrent, (RecurrentConfig{.conv_taps = 4,
                                               .n_key_heads = 16,
                                               .n_heads = 32,
                                               .key_dim = 128,
                                               .value_dim = 128,
                                               .heads_interleaved = true}));
  EXPECT_EQ(config.conv_channels(kD), 2 * 16 * 128 + 32 * 128);
  object.update({{"full_attention_interval", 2},
                 {"linear_conv_kernel_dim", 3},
                 {"linear_num_key_heads", 2},
                 {"linear_num_value_heads", 6},
                 {"linear_key_head_dim", 8},
                 {"linear_value_head_dim", 12},
                 {"attn_output_gate", true},
                 {"rope_parameters",
                  {{"rope_type", "default"},
                   {"rope_theta", 1e7},
                   {"partial_rotary_factor", 0.5},
                   {"mrope_interleaved", true},
                   {"mrope_section", {11, 11, 10}}}}});
  config = read(object);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kD, kA, kD, kA}));
  EXPECT_EQ(config.rotations[0].theta, 1e7);
  EXPECT_EQ(config.rotations[0].rotary_share, 0.5);
  EXPECT_EQ(config.recurrent.key_width(), 16);
  EXPECT_EQ(config.recurrent.value_width(), 72);
  object["layer_types"] = {"full_attention", "linear_attention", "linear_attention",
                           "full_attention"};
  EXPECT_EQ(mixers(read(object)), (std::vector<Mixer>{kA, kD, kD, kA}));
}

// As published: beside a vision tower. Fields of the whole count.
TEST(HybridConfig, ReadsTheTextPartOfAModel) {
  json text = qwen3_5();
  text.erase("architectures");
  json object = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                 {"model_type", "qwen3_5"},
                 {"text_config", text},
                 {"tie_word_embeddings", false},
                 {"vision_config", {{"depth", 12}}}};
  ModelConfig config = read(qwen3_5());
  config.tied_embeddings = false;
  EXPECT_EQ(read(object), config);
  object.erase("tie_word_embeddings");
  EXPECT_EQ(read(object), read(qwen3_5()));
  object["text_config"].erase("eos_token_id");
  object["eos_token_id"] = 7;
  EXPECT_EQ(read(object).eos_ids, std::vector<int32_t>{7});
  expect_error(object, {{"quantization_config", {{"bits", 4}}}}, ErrorCode::kUnsupported,
               {"quantization_config"});
  expect_error(object, {{"text_config", nullptr}}, ErrorCode::kBadFile, {"text_config", "object"});
  object.erase("text_config");
  expect_error(object, json::object(), ErrorCode::kBadFile, {"text_config", "absent"});
}

TEST(HybridConfig, ReadsQwen3Next) {
  json object = decoder("Qwen3NextForCausalLM", "qwen3_next");
  expect_error(object, json::object(), ErrorCode::kBadFile, {"moe_intermediate_size"});
  object["num_experts"] = 0;
  const ModelConfig config = read(object);
  EXPECT_FALSE(config.recurrent.heads_interleaved);
  EXPECT_TRUE(config.attention_gate);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kD, kD, kD, kA}));
  EXPECT_EQ(config.rotations[0].rotary_share, 0.25);
}

TEST(HybridConfig, ReadsLfm2) {
  json object = lfm2();
  ModelConfig config = read(object);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kS, kS, kA, kS}));
  EXPECT_EQ(config.recurrent, RecurrentConfig{.conv_taps = 3});
  EXPECT_EQ(config.conv_channels(kS), 64);
  EXPECT_EQ(config.rotations[0].theta, 1e6);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(config.d_ff, 256);  // 2/3 of 172, up to a multiple of 256
  object["block_ff_dim"] = 6656;
  EXPECT_EQ(read(object).d_ff, 4608);
  object["block_ffn_dim_multiplier"] = 1.5;
  EXPECT_EQ(read(object).d_ff, 6656);  // 4437 * 1.5 = 6655
  object["block_ffn_dim_multiplier"] = nullptr;
  object["block_ff_dim"] = 6657;
  EXPECT_EQ(read(object).d_ff, 4438);
  object["block_auto_adjust_ff_dim"] = false;
  object["block_ff_dim"] = 6656;
  EXPECT_EQ(read(object).d_ff, 6656);
  // Older files.
  object.erase("layer_types");
  object.update({{"full_attn_idxs", {1, 3}},
                 {"tie_embedding", false},
                 {"norm_eps", 1e-6},
                 {"conv_L_cache", 5}});
  config = read(object);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kS, kA, kS, kA}));
  EXPECT_EQ(config.rms_eps, 1e-6f);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(config.recurrent.conv_taps, 5);
  object.erase("full_attn_idxs");
  config = read(object);
  EXPECT_EQ(config.n_attention_layers(), 4);
  EXPECT_EQ(config.recurrent, RecurrentConfig());
}

TEST(HybridConfig, ReadsGranite) {
  json object = granite();
  ModelConfig config = read(object);
  EXPECT_EQ(mixers(config), (std::vector<Mixer>{kM, kM, kA, kM}));
  EXPECT_EQ(config.d_ff, 96);
  EXPECT_EQ(config.rotations, std::vector<RopeConfig>{{.rotary_share = 0.0}});
  EXPECT_EQ(config.attention_scale, 1.0f);
  EXPECT_EQ(config.recurrent, (RecurrentConfig{.conv_taps = 4,
                                               .n_key_heads = 1,
                                               .n_heads = 8,
                                               .key_dim = 256,
                                               .value_dim = 16,
                                               .conv_bias = true}));
  object.update({{"position_embedding_type", "rope"},
                 {"embedding_multiplier", 12},
                 {"residual_multiplier", 0.246},
                 {"attention_multiplier", 0.015625},
                 {"logits_scaling", 3},
                 {"mamba_d_head", "auto"},
                 {"mamba_expand", 3},
                 {"mamba_conv_bias", false},
                 {"time_step_limit", {0.0, {{"__float__", "Infinity"}}}}});
  config = read(object);
  EXPECT_EQ(config.rotations[0], RopeConfig());
  EXPECT_EQ(config.embedding_scale, 12.0f);
  EXPECT_EQ(config.residual_scale, 0.246f);
  EXPECT_EQ(config.attention_scale, 0.015625f);
  EXPECT_EQ(config.logit_divisor, 3.0f);
  EXPECT_EQ(config.recurrent.value_dim, 24);
  EXPECT_FALSE(config.recurrent.conv_bias);
  std::string text = object.dump();
  constexpr std::string_view kInfinity = R"({"__float__":"Infinity"})";
  text.replace(text.find(kInfinity), kInfinity.size(), "Infinity");  // as Python writes it
  const Result<ModelConfig> of_python = ModelConfig::parse(text, "test.json");
  ASSERT_TRUE(of_python.ok()) << of_python.error().message();
  EXPECT_EQ(*of_python, config);
  // Attention alone, as Granite 4 Micro.
  object["layer_types"] = json::array({"attention", "attention", "attention", "full_attention"});
  EXPECT_EQ(read(object).n_recurrent_layers(), 0);
}

// The library's default is recurrent layers alone.
TEST(HybridConfig, GraniteWithoutKindsOfLayersHasNoAttention) {
  json object = granite();
  object["layers_block_type"] = object["layer_types"];
  EXPECT_EQ(mixers(read(object)), (std::vector<Mixer>{kM, kM, kA, kM}));
  expect_error(object, {{"layers_block_type", {"attention", "mamba", "attention", "mamba"}}},
               ErrorCode::kBadFile, {"'layers_block_type'", "the value of 'layer_types'"});
  object.erase("layer_types");
  EXPECT_EQ(mixers(read(object)), (std::vector<Mixer>{kM, kM, kA, kM}));
  object.erase("layers_block_type");
  expect_error(object, json::object(), ErrorCode::kUnsupported,
               {"'layer_types' is absent, expected", "one layer has attention"});
}

TEST(HybridConfig, AnErrorNamesOneOfManyLayers) {
  json object = granite();
  object["num_hidden_layers"] = 40;
  object["layer_types"] = std::vector<std::string>(40, "mamba");
  object["layer_types"][5] = "attention";
  EXPECT_EQ(read(object).n_attention_layers(), 1);
  object["layer_types"][33] = "mamba3";
  expect_error(object, json::object(), ErrorCode::kUnsupported,
               {"'layer_types[33]' is \"mamba3\", expected \"mamba\" or \"attention\""});
  object["layer_types"].erase(33);
  expect_error(object, json::object(), ErrorCode::kUnsupported,
               {"'layer_types' has 39 entries, expected 40"});
}

TEST(HybridConfig, RefusesByNameWhatIsNotOffered) {
  const auto no = ErrorCode::kUnsupported;
  expect_error(qwen3_5(), {{"attn_output_gate", false}}, no, {"attn_output_gate", "false"});
  expect_error(qwen3_5(), {{"sliding_window", 64}}, no, {"sliding_window"});
  expect_error(qwen3_5(), {{"full_attention_interval", 5}}, no,
               {"'full_attention_interval' is 5", "one layer has attention"});
  expect_error(qwen3_5(), {{"layer_types", {"full_attention"}}}, no,
               {"'layer_types' has 1 entry, expected 4"});
  expect_error(qwen3_5(),
               {{"layer_types", {"full_attention", "linear_attention", "mamba", "mamba"}}}, no,
               {"'layer_types[2]' is \"mamba\"", "\"linear_attention\" or \"full_attention\""});
  expect_error(qwen3_5(), {{"model_type", "qwen3_6_text"}}, no, {"qwen3_6_text"});
  expect_error(lfm2(), {{"conv_bias", true}}, no, {"conv_bias"});
  expect_error(lfm2(), {{"layer_types", {"conv", "conv", "conv", "conv"}}}, no,
               {"'layer_types' names no layer with attention"});
  expect_error(granite(), {{"mamba_proj_bias", true}}, no, {"mamba_proj_bias"});
  expect_error(granite(), {{"time_step_limit", {0.01, 100.0}}}, no, {"time_step_limit"});
  // Fields of other families.
  expect_error(lfm2(), {{"embedding_multiplier", 12.0}}, no, {"embedding_multiplier", "12"});
  expect_error(granite(), {{"attn_output_gate", true}}, no, {"attn_output_gate"});
}

TEST(HybridConfig, ChecksEverySize) {
  const auto bad = ErrorCode::kBadFile;
  expect_error(qwen3_5(), {{"linear_num_value_heads", 24}}, bad,
               {"linear_num_value_heads", "24", "linear_num_key_heads", "16"});
  expect_error(qwen3_5(), {{"linear_key_head_dim", 30}}, bad, {"linear_key_head_dim", "30", "4"});
  expect_error(qwen3_5(), {{"linear_value_head_dim", 1 << 20}}, bad,
               {"linear_num_value_heads", "linear_value_head_dim", "33554432", "1048576"});
  for (const int taps : {1, 17})
    expect_error(
        qwen3_5(), {{"linear_conv_kernel_dim", taps}}, bad,
        {fmt::format("'linear_conv_kernel_dim' is {}, expected an integer in [2, 16]", taps)});
  expect_error(lfm2(), {{"conv_L_cache", 1}}, bad, {"conv_L_cache", "[2, 16]"});
  expect_error(lfm2(), {{"block_multiple_of", 0}}, bad, {"block_multiple_of"});
  json object = lfm2();
  object.erase("layer_types");
  for (const json& index : {json(4), json(-1), json("1")})
    expect_error(object, {{"full_attn_idxs", {3, index}}}, bad,
                 {"'full_attn_idxs[1]' is " + index.dump(), "below 4"});
  expect_error(object, {{"full_attn_idxs", 3}}, bad, {"'full_attn_idxs' is 3", "a list"});
  expect_error(object, {{"full_attn_idxs", json::array()}}, ErrorCode::kUnsupported,
               {"'full_attn_idxs' names no layer with attention"});
  expect_error(granite(), {{"mamba_d_conv", 17}}, bad, {"mamba_d_conv", "17"});
  expect_error(granite(), {{"mamba_n_groups", 3}}, bad, {"mamba_n_heads", "8", "mamba_n_groups"});
  expect_error(granite(), {{"mamba_n_heads", 3}}, bad, {"mamba_n_heads", "3", "128"});
  expect_error(granite(), {{"mamba_d_head", 20}}, bad, {"mamba_n_heads", "8", "128"});
  expect_error(granite(), {{"mamba_d_state", 6}}, bad, {"mamba_d_state", "6"});
  expect_error(granite(), {{"residual_multiplier", 0}}, bad, {"residual_multiplier"});
  expect_error(granite(), {{"logits_scaling", 1e30}}, bad, {"logits_scaling"});
  expect_error(granite(), {{"attention_multiplier", 1e30}}, bad, {"attention_multiplier"});
}

}  // namespace
}  // namespace pando::model::hybrid_test
