// Reading and writing of configurations.
#include "model/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/family.h"
#include "model/llama_json.h"
#include "model/make_model.h"
#include "model/test_files.h"
#include "model/weight_specs.h"

namespace pando::model::config_test {
namespace {

using nlohmann::json;
using namespace llama_json;

// Tensors have types of their own, so that this field is for others; it has two names.
TEST(Config, TakesTheTypeOfWeightsByEitherName) {
  for (const char* name : {"dtype", "torch_dtype"}) {
    json object = llama();
    object[name] = "bfloat16";
    EXPECT_TRUE(parse(object).ok()) << name;
  }
}

// The class of a model that is saved without its head.
TEST(Config, TakesTheClassWithoutAHead) {
  json object = llama();
  object["architectures"] = {"LlamaModel"};
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->family, find_family("llama"));
}

TEST(Config, ReadsLlama) {
  const Result<ModelConfig> config = parse(llama());
  ASSERT_TRUE(config.ok()) << config.error().message();
  const ModelConfig expected = {ModelSpec{.family_name = "llama",
                                          .vocab = 100,
                                          .d_model = 64,
                                          .layers = std::vector<LayerConfig>(2),
                                          .n_heads = 4,
                                          .n_kv_heads = 2,
                                          .head_dim = 16,
                                          .d_ff = 172,
                                          .rms_eps = 1e-5f,
                                          .rotations = {{.theta = 10000.0}},
                                          .max_positions = 512,
                                          .tied_embeddings = false,
                                          .bos_id = 1,
                                          .eos_ids = {2}},
                                find_family("llama")};
  EXPECT_EQ(*config, expected);
  EXPECT_EQ(config->q_dim(), 64);
  EXPECT_EQ(config->kv_dim(), 32);
  EXPECT_EQ(config->n_parameters(),
            2 * 100 * 64 + 64 + 2 * (2 * 64 + 2 * 64 * 64 + 2 * 32 * 64 + 3 * 172 * 64));
}

TEST(Config, ReadsQwen3) {
  json object = llama();
  object.update({{"architectures", {"Qwen3ForCausalLM"}},
                 {"model_type", "qwen3"},
                 {"head_dim", 32},
                 {"tie_word_embeddings", true},
                 {"eos_token_id", {2, 3}},
                 {"sliding_window", 4096},
                 {"use_sliding_window", false},
                 {"layer_types", {"full_attention", "full_attention"}}});
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(config->layers[0].window, 0);
  EXPECT_EQ(config->q_dim(), 128);
  EXPECT_TRUE(config->tied_embeddings);
  EXPECT_EQ(config->eos_ids, (std::vector<int32_t>{2, 3}));
  object.erase("head_dim");
  EXPECT_EQ(parse(object)->head_dim, 128);
}

TEST(Config, FillsWhatTheFormatLeavesOut) {
  json object = llama();
  for (const char* name : {"architectures", "num_key_value_heads", "rms_norm_eps", "rope_theta",
                           "tie_word_embeddings", "bos_token_id", "hidden_act"})
    object.erase(name);
  object["eos_token_id"] = nullptr;
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->n_kv_heads, 4);
  EXPECT_EQ(config->rms_eps, 1e-6f);
  EXPECT_EQ(config->rotations[0].theta, 10000.0);
  EXPECT_FALSE(config->bos_id.has_value());
  EXPECT_TRUE(config->eos_ids.empty());
}

TEST(Config, ReadsBothFormsOfRotaryParameters) {
  json object = llama();
  object["rope_scaling"] = {{"rope_type", "default"}};
  EXPECT_TRUE(parse(object).ok());
  object.erase("rope_theta");
  object["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 5e5}};
  const Result<ModelConfig> config = parse(object);
  ASSERT_TRUE(config.ok()) << config.error().message();
  EXPECT_EQ(config->rotations[0].theta, 5e5);
  expect_error({{"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}}},
               ErrorCode::kBadFile, {"rope_parameters", "10000"});
  expect_error({{"rope_parameters", 3}}, ErrorCode::kBadFile, {"rope_parameters", "3", "object"});
  expect_error({{"rope_parameters", {{"rope_theta", "x"}}}}, ErrorCode::kBadFile,
               {"rope_parameters"});
}

TEST(Config, ReadsMistral) {
  const auto mistral = [](const json& change) {
    return parsed(of_family("mistral", "MistralForCausalLM", change));
  };
  EXPECT_EQ(mistral({{"sliding_window", 37}}).layers[0].window, 37);
  EXPECT_EQ(mistral({{"sliding_window", 37}}).layers[1].window, 37);
  EXPECT_EQ(mistral({{"sliding_window", nullptr}}).layers[0].window, 0);
  EXPECT_EQ(mistral({}).layers[0].window, 4096);  // the library's, where the field is absent
  EXPECT_EQ(
      mistral({{"sliding_window", 9}, {"layer_types", {"sliding_attention", "sliding_attention"}}})
          .layers[0]
          .window,
      9);
}

TEST(Config, ReadsQwen2) {
  const auto qwen2 = [](const json& change) {
    return parsed(of_family("qwen2", "Qwen2ForCausalLM", change));
  };
  const ModelConfig plain = qwen2({{"sliding_window", 131072}, {"max_window_layers", 1}});
  EXPECT_TRUE(plain.qkv_bias);
  EXPECT_FALSE(plain.o_bias);
  EXPECT_EQ(plain.layers[1].window, 0);
  json window = {{"use_sliding_window", true}, {"sliding_window", 50}, {"max_window_layers", 1}};
  EXPECT_EQ(qwen2(window).layers[0].window, 0);
  EXPECT_EQ(qwen2(window).layers[1].window, 50);
  window["layer_types"] = {"sliding_attention", "full_attention"};  // it counts first
  EXPECT_EQ(qwen2(window).layers[0].window, 50);
  EXPECT_EQ(qwen2(window).layers[1].window, 0);
  window.erase("layer_types");
  window["max_window_layers"] = 0;
  EXPECT_EQ(qwen2(window).layers, std::vector<LayerConfig>(2, {.window = 50}));
  window["max_window_layers"] = 28;
  EXPECT_EQ(qwen2(window).layers, std::vector<LayerConfig>(2));
}

TEST(Config, ReadsPhi3) {
  const json change = {{"rms_norm_eps", nullptr},
                       {"partial_rotary_factor", 0.75},
                       {"original_max_position_embeddings", 128},
                       {"rope_scaling",
                        {{"type", "su"},
                         {"short_factor", {1, 1, 1, 1, 1, 1.5}},
                         {"long_factor", {1, 2, 3, 4, 5, 6}}}}};
  const ModelConfig config = parsed(of_family("phi3", "Phi3ForCausalLM", change));
  EXPECT_EQ(weight_specs(config)[2].name, layer_weight_name(0, "self_attn.qkv_proj.weight"));
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(config.rotations[0].type, RopeType::kLongRope);
  EXPECT_EQ(config.rotations[0].rotary_dim(config.head_dim), 12);
  EXPECT_EQ(config.rotations[0].original_positions, 128);
  EXPECT_EQ(config.rotations[0].long_factor, (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_DOUBLE_EQ(config.rotations[0].attention_factor,
                   std::sqrt(1 + std::log(4.0) / std::log(128.0)));
}

TEST(Config, ReadsOlmo2) {
  const ModelConfig config =
      parsed(of_family("olmo2", "Olmo2ForCausalLM", {{"rms_norm_eps", nullptr}}));
  EXPECT_EQ(config.qk_norm, QkNorm::kFullWidth);
  EXPECT_EQ(config.q_norm_dim(config.heads(0)), 64);
  EXPECT_EQ(config.k_norm_dim(config.heads(0)), 32);
  EXPECT_EQ(config.rms_eps, 1e-5f);
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 11 + 1);
  EXPECT_EQ(weight_specs(config)[11].name,
            layer_weight_name(0, "post_feedforward_layernorm.weight"));
}

TEST(Config, ReadsBiases) {
  EXPECT_FALSE(parsed(llama()).qkv_bias);
  const ModelConfig config =
      parsed(of_family("llama", "LlamaForCausalLM", {{"attention_bias", true}}));
  EXPECT_TRUE(config.qkv_bias && config.o_bias);
}

TEST(Config, ReadsScaledRotation) {
  const auto rope = [](const json& scaling) {
    return parsed(of_family("llama", "LlamaForCausalLM", {{"rope_scaling", scaling}})).rotations[0];
  };
  EXPECT_EQ(rope({{"type", "linear"}, {"factor", 4}}).factor, 4.0);
  const RopeConfig llama3 = rope({{"rope_type", "llama3"},
                                  {"factor", 8.0},
                                  {"low_freq_factor", 1.5},
                                  {"high_freq_factor", 4.5},
                                  {"original_max_position_embeddings", 64}});
  EXPECT_EQ(llama3.type, RopeType::kLlama3);
  EXPECT_EQ(llama3.low_freq_factor, 1.5);
  EXPECT_EQ(llama3.high_freq_factor, 4.5);
  EXPECT_EQ(llama3.original_positions, 64);
  const RopeConfig yarn = rope({{"type", "yarn"}, {"factor", 16.0}, {"finetuned", true}});
  EXPECT_EQ(yarn.original_positions, 512);  // the file's own context
  EXPECT_DOUBLE_EQ(yarn.attention_factor, 0.1 * std::log(16.0) + 1);
  EXPECT_EQ(yarn.beta_fast, 32.0);
  EXPECT_TRUE(yarn.truncate);
  EXPECT_EQ(rope({{"type", "yarn"}, {"factor", 2.0}, {"attention_factor", 1.25}}).attention_factor,
            1.25);
  // Both forms in one file must agree.
  json both = of_family("llama", "LlamaForCausalLM",
                        {{"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}});
  both["rope_parameters"] = {{"rope_type", "linear"}, {"rope_theta", 1e4}, {"factor", 2.0}};
  EXPECT_EQ(parsed(both).rotations[0].factor, 2.0);
  both["rope_parameters"]["factor"] = 3.0;
  EXPECT_NE(parse(both).error().message().find("rope_parameters"), std::string::npos);
}

// The library has this type for all families.
TEST(Config, ReadsProportionalRotations) {
  const json rope = {{"rope_type", "proportional"}, {"rope_theta", 1e4}};
  const ModelConfig config =
      config_json::read(of_family("llama", "LlamaForCausalLM", {{"rope_parameters", rope}}));
  EXPECT_EQ(config.rotations[0].type, RopeType::kProportional);
}

TEST(Config, LoadsADirectory) {
  const TemporaryFolder folder;
  EXPECT_EQ(ModelConfig::load(folder.path()).error().code, ErrorCode::kNotFound);
  folder.write("config.json", llama().dump());
  EXPECT_TRUE(ModelConfig::load(folder.path()).ok());
  folder.write("config.json", "{}");
  const Error error = ModelConfig::load(folder.path()).error();
  EXPECT_NE(error.message().find((folder.path() / "config.json").string()), std::string::npos);
}

TEST(Config, WritesWhatItReads) {
  for (const char* type : {"llama", "qwen3"}) {
    json object = llama();
    object.update({{"model_type", type},
                   {"architectures", nullptr},
                   {"head_dim", 20},
                   {"eos_token_id", {7, 8}},
                   {"rope_theta", 1e6}});
    ModelConfig config = parse(object).value();
    const std::string text = config.to_json(DType::kBF16);
    EXPECT_EQ(ModelConfig::parse(text, "t").value(), config);
    EXPECT_EQ(json::parse(text)["torch_dtype"], "bfloat16");
    EXPECT_NE(text.find("1e-05"), std::string::npos);
    config.bos_id.reset();
    config.eos_ids.clear();
    EXPECT_EQ(ModelConfig::parse(config.to_json(DType::kF32), "t").value(), config);
  }
}

TEST(Config, WritesEveryShapeAsItReadsIt) {
  for (const std::string_view name : shape_names()) {
    const ModelConfig config = named_shape(name).value();
    EXPECT_EQ(ModelConfig::parse(config.to_json(DType::kF32), name).value(), config) << name;
  }
}

TEST(WeightSpecs, NameEveryWeightOnce) {
  ModelConfig config = parse(llama()).value();
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 9 + 1);
  EXPECT_EQ(weight_specs(config).back().name, "lm_head.weight");
  config.qk_norm = QkNorm::kPerHead;
  config.tied_embeddings = true;
  const auto specs = weight_specs(config);
  EXPECT_EQ(specs.size(), 2u + 2 * 11);
  EXPECT_EQ(specs.back().name, "model.norm.weight");
  EXPECT_EQ(specs[1].name, layer_weight_name(0, "input_layernorm.weight"));
  config.qkv_bias = config.o_bias = true;
  EXPECT_EQ(weight_specs(config).size(), 2u + 2 * 15);
  config = ModelConfig::of_family(*find_family("phi3"));
  config.layers.resize(1);
  EXPECT_EQ(weight_specs(config).size(), 3u + 6);
}

}  // namespace
}  // namespace pando::model::config_test
