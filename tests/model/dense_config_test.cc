// Configurations of models that differ from Llama in norms, rotation, windows or multipliers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/make_model.h"
#include "model/test_files.h"

namespace pando::model::dense_test {
namespace {

using nlohmann::json;

json decoder(const char* architecture, const char* type, const json& change = json::object()) {
  json object = {{"architectures", {architecture}},
                 {"model_type", type},
                 {"vocab_size", 100},
                 {"hidden_size", 64},
                 {"num_hidden_layers", 4},
                 {"num_attention_heads", 4},
                 {"num_key_value_heads", 2},
                 {"intermediate_size", 172},
                 {"max_position_embeddings", 512}};
  object.update(change);
  return object;
}

json smollm3(const json& change = json::object()) {
  return decoder("SmolLM3ForCausalLM", "smollm3", change);
}
json granite(const json& change = json::object()) {
  return decoder("GraniteForCausalLM", "granite", change);
}
json olmo3(const json& change = json::object()) {
  return decoder("Olmo3ForCausalLM", "olmo3", change);
}
json ministral3(const json& change = json::object()) {
  return decoder("Ministral3ForCausalLM", "ministral3", change);
}
json cohere2(const json& change = json::object()) {
  return decoder("Cohere2ForCausalLM", "cohere2", change);
}
json glm4(const json& change = json::object()) {
  return decoder("Glm4ForCausalLM", "glm4", change);
}
json seed_oss(const json& change = json::object()) {
  return decoder("SeedOssForCausalLM", "seed_oss", change);
}

json gemma2(const json& change = json::object()) {
  return decoder("Gemma2ForCausalLM", "gemma2", change);
}
json gemma3(const json& change = json::object()) {
  return decoder("Gemma3ForCausalLM", "gemma3_text", change);
}

Result<ModelConfig> parse(const json& object) {
  return ModelConfig::parse(object.dump(), "test.json");
}

// What is read; written and read again it is the same.
ModelConfig read(const json& object) {
  Result<ModelConfig> config = parse(object);
  EXPECT_TRUE(config.ok()) << config.error().message;
  if (!config.ok()) return named_shape("tiny-llama").value();
  const Result<ModelConfig> again = ModelConfig::parse(config->to_json(DType::kF32), "written");
  EXPECT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(again.ok() && *again == *config) << config->to_json(DType::kF32);
  return *config;
}

void expect_error(const json& object, std::vector<std::string> words,
                  ErrorCode code = ErrorCode::kUnsupported) {
  const Result<ModelConfig> config = parse(object);
  ASSERT_FALSE(config.ok()) << object;
  EXPECT_EQ(config.error().code, code) << config.error().message;
  words.push_back("test.json");
  for (const std::string& word : words)
    EXPECT_NE(config.error().message.find(word), std::string::npos)
        << config.error().message << " lacks " << word;
}

std::vector<int> rotations(const ModelConfig& config) {
  std::vector<int> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.rotation);
  return all;
}

std::vector<int> windows(const ModelConfig& config) {
  std::vector<int> all;
  for (const LayerConfig& layer : config.layers) all.push_back(layer.window);
  return all;
}

using Ints = std::vector<int>;

TEST(DenseConfig, ReadsSmolLm3) {
  const ModelConfig usual = read(smollm3());
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(usual.rotations[0].theta, 2e6);
  EXPECT_EQ(usual.rotations[1].rotary_dim(16), 0);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(rotations(read(smollm3({{"no_rope_layer_interval", 2}}))), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(rotations(read(smollm3({{"no_rope_layers", {0, 1, 1, 0, 1}}}))), (Ints{1, 0, 0, 1}));
  expect_error(smollm3({{"no_rope_layers", {0, 1, 1}}}), {"no_rope_layers", "4 layers"},
               ErrorCode::kBadFile);
  expect_error(smollm3({{"no_rope_layers", {0, 1, 2, 1}}}), {"'no_rope_layers[2]' is 2", "0 or 1"},
               ErrorCode::kBadFile);
  expect_error(smollm3({{"no_rope_layers", 3}}), {"no_rope_layers", "a list"}, ErrorCode::kBadFile);
  expect_error(smollm3({{"use_sliding_window", true}}), {"use_sliding_window"});
}

TEST(DenseConfig, ReadsGranite) {
  const ModelConfig usual = read(granite());
  EXPECT_EQ(usual.attention_scale, 1.0f);  // and not the root of the head's size
  EXPECT_EQ(usual.embedding_scale, 1.0f);
  const ModelConfig config = read(granite({{"embedding_multiplier", 12},
                                           {"residual_multiplier", 0.22},
                                           {"attention_multiplier", 0.015625},
                                           {"logits_scaling", 8.0}}));
  EXPECT_EQ(config.embedding_scale, 12.0f);
  EXPECT_EQ(config.residual_scale, 0.22f);
  EXPECT_EQ(config.attention_scale, 0.015625f);
  EXPECT_EQ(config.logit_divisor, 8.0f);
  expect_error(granite({{"logits_scaling", 0}}), {"logits_scaling"}, ErrorCode::kBadFile);
  expect_error(granite({{"num_local_experts", 4}}), {"num_local_experts"});
}

TEST(DenseConfig, ReadsOlmo3) {
  const ModelConfig usual = read(olmo3());
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.qk_norm, QkNorm::kFullWidth);
  // As first published: what the file says is of the layers that see all.
  const ModelConfig old = read(
      olmo3({{"rope_theta", 700.0},
             {"rope_scaling",
              {{"rope_type", "yarn"}, {"factor", 8.0}, {"original_max_position_embeddings", 64}}},
             {"sliding_window", 20},
             {"layer_types",
              {"full_attention", "sliding_attention", "full_attention", "sliding_attention"}}}));
  EXPECT_EQ(windows(old), (Ints{0, 20, 0, 20}));
  EXPECT_EQ(rotations(old), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(old.rotations[0].type, RopeType::kYarn);
  EXPECT_EQ(old.rotations[0].theta, 700.0);
  EXPECT_EQ(old.rotations[1], RopeConfig{.theta = 5e5});
  const json by_type = {
      {"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 300.0}}},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 200.0}}}};
  const ModelConfig now = read(olmo3({{"rope_parameters", by_type}}));
  EXPECT_EQ(now.rotations[0].type, RopeType::kLinear);
  EXPECT_EQ(now.rotations[0].theta, 300.0);
  EXPECT_EQ(now.rotations[1], RopeConfig{.theta = 200.0});
  expect_error(olmo3({{"rope_parameters", {{"rope_type", "default"}}}}),
               {"rope_parameters", "full_attention"}, ErrorCode::kBadFile);
  json bad = by_type;
  bad["sliding_attention"]["rope_theta"] = "x";
  expect_error(olmo3({{"rope_parameters", bad}}),
               {"'rope_parameters.sliding_attention'", "rope_theta"}, ErrorCode::kBadFile);
  bad = by_type;
  bad["full_attention"] = 3;
  expect_error(olmo3({{"rope_parameters", bad}}),
               {"'rope_parameters.full_attention' is 3", "an object"}, ErrorCode::kBadFile);
  expect_error(
      olmo3({{"sliding_window", nullptr},
             {"layer_types",
              {"full_attention", "sliding_attention", "full_attention", "full_attention"}}}),
      {"'layer_types[1]' is \"sliding_attention\""});
}

TEST(DenseConfig, ReadsMinistral3) {
  const json rope = {{"rope_type", "yarn"},
                     {"rope_theta", 1e6},
                     {"factor", 16.0},
                     {"original_max_position_embeddings", 128},
                     {"max_position_embeddings", 512},
                     {"beta_fast", 32.0},
                     {"beta_slow", 1.0},
                     {"mscale", 1.0},
                     {"mscale_all_dim", 1.0},
                     {"llama_4_scaling_beta", 0.1}};
  const ModelConfig config = read(ministral3({{"rope_parameters", rope}}));
  EXPECT_EQ(config.head_dim, 128);
  EXPECT_EQ(windows(config), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(config.rotations[0].query_growth, 0.1f);
  EXPECT_EQ(config.rotations[0].attention_factor, 1.0);
  EXPECT_EQ(config.rotations[0].query_factor(127), 1.0f);
  EXPECT_FLOAT_EQ(config.rotations[0].query_factor(128), 1.0f + 0.1f * std::log(2.0f));
  EXPECT_FLOAT_EQ(config.rotations[0].query_factor(383), 1.0f + 0.1f * std::log(3.0f));
  // The library's, where the file says nothing.
  EXPECT_EQ(read(ministral3()).rotations[0], named_shape("ministral-3-3b")->rotations[0]);
  json none = rope;
  none["llama_4_scaling_beta"] = 0;
  EXPECT_EQ(read(ministral3({{"rope_parameters", none}})).rotations[0].query_growth, 0.0f);
  json bad = rope;
  bad["llama_4_scaling_beta"] = -1;
  expect_error(ministral3({{"rope_parameters", bad}}), {"llama_4_scaling_beta", "-1"},
               ErrorCode::kBadFile);
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_parameters", rope}}),
               {"rope_parameters", "llama_4_scaling_beta"});
}

// Mistral Small 3 and Ministral 3 come with a part that reads images.
TEST(DenseConfig, ReadsThePartOfMistral3ThatReadsText) {
  const auto wrapped = [](const json& text) {
    return json{{"architectures", {"Mistral3ForConditionalGeneration"}},
                {"model_type", "mistral3"},
                {"tie_word_embeddings", true},
                {"text_config", text},
                {"vision_config", {{"model_type", "pixtral"}}}};
  };
  json text = ministral3();
  text.erase("architectures");
  EXPECT_EQ(read(wrapped(text)).family, find_family("ministral3"));
  EXPECT_TRUE(read(wrapped(text)).tied_embeddings);
  text = decoder("", "mistral", {{"sliding_window", nullptr}, {"head_dim", 32}});
  text.erase("architectures");
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
  EXPECT_EQ(read(wrapped(text)).head_dim, 32);
  text.erase("model_type");
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
  text["model_type"] = "mistral4";
  expect_error(wrapped(text), {"model_type", "mistral4"});
}

TEST(DenseConfig, ReadsCohere2) {
  const ModelConfig usual = read(cohere2());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.parallel);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.logit_scale, 0.0625f);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  const ModelConfig config = read(cohere2({{"layer_norm_eps", 1e-3},
                                           {"logit_scale", 0.3},
                                           {"sliding_window", 9},
                                           {"sliding_window_pattern", 2}}));
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.logit_scale, 0.3f);
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  expect_error(cohere2({{"logit_scale", 1e9}}), {"logit_scale", "(0, 1e6]"}, ErrorCode::kBadFile);
  expect_error(cohere2({{"rotary_pct", 0.5}}), {"rotary_pct", "0.5"});
  expect_error(cohere2({{"use_parallel_block", false}}), {"use_parallel_block"});
}

TEST(DenseConfig, ReadsGlm4) {
  const ModelConfig usual = read(glm4());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rotations[0].rotary_dim(128), 64);
  EXPECT_EQ(usual.rms_eps, 1.5625e-7f);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(glm4({{"attention_bias", false}, {"head_dim", 24}, {"partial_rotary_factor", 0.25}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_EQ(config.rotations[0].rotary_dim(24), 6);
  expect_error(glm4({{"sliding_window", 9}}), {"sliding_window", "glm4"});
}

TEST(DenseConfig, ReadsGemma2) {
  const ModelConfig usual = read(gemma2());
  EXPECT_EQ(usual.head_dim, 256);
  EXPECT_EQ(usual.activation, Activation::kGeluTanh);
  EXPECT_EQ(usual.embedding_scale, 8.0f);
  EXPECT_EQ(usual.score_cap, 50.0f);
  EXPECT_EQ(usual.logit_cap, 30.0f);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(windows(usual), (Ints{4096, 0, 4096, 0}));
  const ModelConfig config = read(gemma2({{"attn_logit_softcapping", nullptr},
                                          {"final_logit_softcapping", 7.5},
                                          {"query_pre_attn_scalar", 144}}));
  EXPECT_EQ(config.score_cap, 0.0f);
  EXPECT_EQ(config.logit_cap, 7.5f);
  EXPECT_FLOAT_EQ(config.attention_scale, 1 / 12.0f);
  expect_error(gemma2({{"attn_logit_softcapping", 0}}), {"attn_logit_softcapping"},
               ErrorCode::kBadFile);
  expect_error(gemma2({{"final_logit_softcapping", 1e9}}), {"final_logit_softcapping", "(0, 1e6]"},
               ErrorCode::kBadFile);
}

TEST(DenseConfig, ReadsGemma3) {
  const ModelConfig usual = read(gemma3());
  EXPECT_EQ(usual.head_dim, 256);
  EXPECT_EQ(usual.activation, Activation::kGeluTanh);
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(usual.embedding_scale, 8.0f);
  EXPECT_EQ(usual.attention_scale, 0.0f);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 4096}));
  EXPECT_EQ(rotations(usual), (Ints{1, 1, 1, 1}));
  EXPECT_EQ(usual.rotations[0].theta, 1e6);
  EXPECT_EQ(usual.rotations[1].theta, 1e4);
  const ModelConfig config =
      read(gemma3({{"head_dim", 32},
                   {"sliding_window", 9},
                   {"sliding_window_pattern", 2},
                   {"rope_theta", 700.0},
                   {"rope_local_base_freq", 300.0},
                   {"rope_scaling", {{"rope_type", "linear"}, {"factor", 8.0}}},
                   {"query_pre_attn_scalar", 168},
                   {"hidden_activation", "gelu_pytorch_tanh"}}));
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  EXPECT_EQ(rotations(config), (Ints{1, 0, 1, 0}));
  EXPECT_EQ(config.rotations[0].factor, 8.0);
  EXPECT_EQ(config.rotations[1], RopeConfig{.theta = 300.0});
  EXPECT_FLOAT_EQ(config.attention_scale, 1 / std::sqrt(168.0f));
  // As the model of 4 billion parameters is published.
  const ModelConfig few = read({{"model_type", "gemma3"},
                                {"architectures", {"Gemma3ForConditionalGeneration"}},
                                {"text_config",
                                 {{"hidden_size", 2560},
                                  {"intermediate_size", 10240},
                                  {"model_type", "gemma3_text"},
                                  {"num_hidden_layers", 34},
                                  {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                                  {"sliding_window", 1024}}},
                                {"vision_config", json::object()},
                                {"eos_token_id", {1, 106}}});
  ModelConfig published = *named_shape("gemma-3-4b");
  published.bos_id.reset();
  EXPECT_EQ(few, published);
  expect_error(gemma3({{"final_logit_softcapping", 30.0}}), {"final_logit_softcapping"});
  expect_error(gemma3({{"attn_logit_softcapping", 50.0}}), {"attn_logit_softcapping"});
  expect_error(gemma3({{"hidden_activation", "silu"}}), {"hidden_activation", "gelu_pytorch_tanh"});
  // As EmbeddingGemma is published.
  expect_error(
      gemma3({{"use_bidirectional_attention", true}, {"architectures", {"Gemma3TextModel"}}}),
      {"use_bidirectional_attention", "EmbeddingGemma"});
  EXPECT_EQ(read(gemma3({{"architectures", {"Gemma3TextModel"}}})), read(gemma3()));
}

TEST(DenseConfig, ReadsSeedOss) {
  const ModelConfig usual = read(seed_oss());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_TRUE(usual.qkv_bias);
  EXPECT_FALSE(usual.o_bias);
  const ModelConfig config =
      read(seed_oss({{"attention_bias", false}, {"attention_out_bias", true}, {"head_dim", 32}}));
  EXPECT_FALSE(config.qkv_bias);
  EXPECT_TRUE(config.o_bias);
  expect_error(seed_oss({{"mlp_bias", true}}), {"mlp_bias"});
}

}  // namespace
}  // namespace pando::model::dense_test
