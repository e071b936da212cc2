// Configurations of Gemma 1 to 4.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::gemma_test {
namespace {

using nlohmann::json;
using namespace config_json;

json gemma1(const json& change = json::object()) {
  return decoder("GemmaForCausalLM", "gemma", change);
}
json gemma2(const json& change = json::object()) {
  return decoder("Gemma2ForCausalLM", "gemma2", change);
}
json gemma3(const json& change = json::object()) {
  return decoder("Gemma3ForCausalLM", "gemma3_text", change);
}

json gemma4(const json& change = json::object()) {
  json object =
      decoder("Gemma4ForCausalLM", "gemma4_text",
              {{"head_dim", 16},
               {"global_head_dim", 32},
               {"sliding_window", 9},
               {"hidden_size_per_layer_input", 8},
               {"vocab_size_per_layer_input", 100},
               {"layer_types",
                {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}});
  object.update(change);
  return object;
}

TEST(GemmaConfig, ReadsGemma1) {
  const ModelConfig usual = read(gemma1());
  EXPECT_EQ(usual.head_dim, 256);
  EXPECT_EQ(usual.activation, Activation::kGeluTanh);
  EXPECT_EQ(usual.embedding_scale, 8.0f);
  EXPECT_EQ(usual.rms_eps, 1e-6f);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_EQ(usual.attention_scale, 0.0f);
  EXPECT_EQ(read(gemma1({{"hidden_act", "gelu"}, {"hidden_activation", nullptr}})), usual);
  EXPECT_EQ(read(gemma1({{"hidden_act", "gelu"}, {"hidden_activation", "gelu_pytorch_tanh"}})),
            usual);
  expect_error(gemma1({{"hidden_activation", "gelu"}}), {"hidden_activation"});
  expect_error(gemma1({{"hidden_act", "silu"}}), {"hidden_act", "gelu_pytorch_tanh"});
  expect_error(gemma1({{"final_logit_softcapping", 30.0}}), {"final_logit_softcapping"});
  EXPECT_TRUE(read(gemma1({{"use_bidirectional_attention", true}})).both_ways);
}

TEST(GemmaConfig, ReadsGemma2) {
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

TEST(GemmaConfig, ReadsGemma3) {
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
  const ModelConfig both_ways =
      read(gemma3({{"use_bidirectional_attention", true}, {"architectures", {"Gemma3TextModel"}}}));
  EXPECT_TRUE(both_ways.both_ways);
  EXPECT_EQ(windows(both_ways)[0], windows(read(gemma3()))[0] / 2 + 1);
  EXPECT_EQ(read(gemma3({{"architectures", {"Gemma3TextModel"}}})), read(gemma3()));
}

TEST(GemmaConfig, ReadsGemma4) {
  const ModelConfig usual = read(gemma4());
  EXPECT_EQ(usual.heads(0), (Heads{4, 2, 16}));
  EXPECT_EQ(usual.heads(1), (Heads{4, 2, 32}));
  EXPECT_EQ(usual.attention_scale, 1.0f);
  EXPECT_TRUE(usual.value_norm);
  EXPECT_EQ(windows(usual), (Ints{9, 0, 9, 0}));
  EXPECT_EQ(rotations(usual), (Ints{1, 0, 1, 0}));
  EXPECT_EQ(usual.rotations[0],
            (RopeConfig{.type = RopeType::kProportional, .theta = 1e6, .rotary_share = 0.25}));
  EXPECT_EQ(usual.rotations[1].theta, 1e4);
  EXPECT_EQ(usual.logit_cap, 0.0f);
  EXPECT_EQ(usual.layer_input_dim, 8);
  const ModelConfig config = read(gemma4({{"attention_k_eq_v", true},
                                          {"num_global_key_value_heads", 1},
                                          {"num_kv_shared_layers", 2},
                                          {"use_double_wide_mlp", true},
                                          {"hidden_size_per_layer_input", 0},
                                          {"use_bidirectional_attention", "vision"},
                                          {"final_logit_softcapping", 30.0}}));
  EXPECT_EQ(config.heads(1), (Heads{4, 1, 32}));
  EXPECT_TRUE(config.layers[1].values_are_keys);
  EXPECT_FALSE(config.layers[0].values_are_keys);
  EXPECT_EQ(config.layers[2].keys_back, 2);
  EXPECT_EQ(config.layers[3].keys_back, 2);
  EXPECT_EQ(config.d_ff_of(1), 172);
  EXPECT_EQ(config.d_ff_of(2), 344);
  EXPECT_EQ(config.layer_input_dim, 0);
  EXPECT_EQ(config.logit_cap, 30.0f);
  // As the library saves it, and with the last layer as the library sees it.
  const json saved =
      gemma4({{"global_head_dim", nullptr},
              {"attention_k_eq_v", true},
              {"layer_types",
               {"sliding_attention", "full_attention", "sliding_attention", "sliding_attention"}},
              {"per_layer_config",
               {{"1", {{"head_dim", 24}, {"num_key_value_heads", 4}}},
                {"3", {{"head_dim", 24}, {"num_key_value_heads", 4}}}}}});
  EXPECT_EQ(read(saved).heads(3), (Heads{4, 4, 24}));
  EXPECT_EQ(windows(read(saved)), (Ints{9, 0, 9, 0}));
}

// As the model of 31 billion parameters is published.
TEST(GemmaConfig, ReadsGemma4InsideALargerModel) {
  const ModelConfig whole = read({{"model_type", "gemma4"},
                                  {"architectures", {"Gemma4ForConditionalGeneration"}},
                                  {"tie_word_embeddings", true},
                                  {"text_config",
                                   {{"model_type", "gemma4_text"},
                                    {"hidden_size", 5376},
                                    {"intermediate_size", 21504},
                                    {"num_hidden_layers", 60},
                                    {"num_attention_heads", 32},
                                    {"num_key_value_heads", 16},
                                    {"head_dim", 256},
                                    {"global_head_dim", 512},
                                    {"num_global_key_value_heads", 4},
                                    {"attention_k_eq_v", true},
                                    {"sliding_window", 1024},
                                    {"final_logit_softcapping", 30.0},
                                    {"hidden_size_per_layer_input", 0},
                                    {"max_position_embeddings", 262144},
                                    {"bos_token_id", 2},
                                    {"eos_token_id", {1, 106}}}},
                                  {"vision_config", json::object()},
                                  {"audio_config", nullptr}});
  EXPECT_EQ(whole, *named_shape("gemma-4-31b"));
}

TEST(GemmaConfig, RefusesWhatGemma4DoesNotCompute) {
  const ErrorCode bad = ErrorCode::kBadFile;
  expect_error(gemma4({{"use_bidirectional_attention", "all"}}), {"use_bidirectional_attention"});
  expect_error(gemma4({{"num_kv_shared_layers", 4}}), {"num_kv_shared_layers", "[0, 3]"}, bad);
  expect_error(
      gemma4({{"num_kv_shared_layers", 3}}),
      {"num_kv_shared_layers", "fewer: layer 1 reads the keys of an earlier layer of its type"},
      bad);
  expect_error(gemma4({{"vocab_size_per_layer_input", 99}}), {"vocab_size_per_layer_input", "100"},
               bad);
  expect_error(gemma4({{"global_head_dim", 30}}), {"global_head_dim", "multiple of 4"}, bad);
  expect_error(gemma4({{"attention_k_eq_v", true}, {"num_global_key_value_heads", 3}}),
               {"num_attention_heads", "num_global_key_value_heads' 3"}, bad);
  expect_error(gemma4({{"per_layer_config", {{"4", {{"head_dim", 24}}}}}}),
               {"per_layer_config", "layers from 0 to 3"}, bad);
  expect_error(gemma4({{"per_layer_config", {{"3", {{"head_dim", 24}}}}}}),
               {"per_layer_config", "layer 1"});
  expect_error(
      gemma4({{"per_layer_config",
               {{"1", {{"num_key_value_heads", 1}}}, {"3", {{"num_key_value_heads", 1}}}}}}),
      {"per_layer_config", "attention_k_eq_v"});
  expect_error(gemma4({{"per_layer_config", {{"3", {{"intermediate_size", 24}}}}}}),
               {"per_layer_config.3", "intermediate_size"});
}

}  // namespace
}  // namespace pando::model::gemma_test
