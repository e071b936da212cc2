// Configurations of OLMo Hybrid.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/make_model.h"

namespace pando::model::olmo_hybrid_config_test {
namespace {

using config_json::read;
using nlohmann::json;

// As the transformers library writes the configuration of the published model, without rotation.
json published() {
  std::vector<std::string> kinds;
  for (int layer = 0; layer < 32; ++layer)
    kinds.push_back(layer % 4 == 3 ? "full_attention" : "linear_attention");
  return {{"architectures", {"OlmoHybridForCausalLM"}},
          {"model_type", "olmo_hybrid"},
          {"attention_bias", false},
          {"attention_dropout", 0.0},
          {"bos_token_id", nullptr},
          {"eos_token_id", 100257},
          {"hidden_act", "silu"},
          {"hidden_size", 3840},
          {"intermediate_size", 11008},
          {"layer_types", kinds},
          {"linear_a_log_max", 16.0},
          {"linear_a_log_min", 0.0},
          {"linear_allow_neg_eigval", true},
          {"linear_conv_kernel_dim", 4},
          {"linear_dt_init_floor", 0.0001},
          {"linear_dt_max", 0.1},
          {"linear_dt_min", 0.001},
          {"linear_key_head_dim", 96},
          {"linear_num_key_heads", 30},
          {"linear_num_value_heads", 30},
          {"linear_value_head_dim", 192},
          {"max_position_embeddings", 65536},
          {"num_attention_heads", 30},
          {"num_hidden_layers", 32},
          {"num_key_value_heads", 30},
          {"pad_token_id", 100277},
          {"rms_norm_eps", 1e-6},
          {"rope_parameters", {{"rope_theta", nullptr}, {"rope_type", "default"}}},
          {"tie_word_embeddings", false},
          {"use_cache", true},
          {"vocab_size", 100352}};
}

json rotating() {
  json object = published();
  object["rope_parameters"]["rope_theta"] = 5e5;
  return object;
}

void expect_error(json object, const json& change, ErrorCode code, std::vector<std::string> words) {
  object.update(change);
  config_json::expect_error(object, std::move(words), code);
}

TEST(OlmoHybridConfig, ReadsThePublishedForm) {
  const ModelConfig config = read(published());
  EXPECT_EQ(config, named_shape("olmo-hybrid-7b").value());
  EXPECT_EQ(config.n_attention_layers(), 8);
  EXPECT_EQ(config.n_recurrent_layers(), 24);
  EXPECT_EQ(config.qk_norm, QkNorm::kFullWidth);
  EXPECT_EQ(config.recurrent.norm_eps, 1e-5f);
  EXPECT_TRUE(config.recurrent.doubled_beta);
}

// Whatever rms_norm_eps is.
TEST(OlmoHybridConfig, DeltaNetsHaveAnEpsilonOfTheirOwn) {
  json object = published();
  object["rms_norm_eps"] = 1e-3;
  const ModelConfig config = read(object);
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.recurrent.norm_eps, 1e-5f);
}

TEST(OlmoHybridConfig, FillsInWhatIsAbsent) {
  json object = published();
  for (const char* name :
       {"layer_types", "linear_allow_neg_eigval", "linear_conv_kernel_dim", "linear_key_head_dim",
        "linear_num_key_heads", "linear_num_value_heads", "linear_value_head_dim",
        "num_key_value_heads", "rms_norm_eps", "tie_word_embeddings", "attention_bias"})
    object.erase(name);
  EXPECT_EQ(read(object), named_shape("olmo-hybrid-7b").value());
  // Three quarters of 3840 channels for 20 heads, and values of twice the size.
  object["linear_num_key_heads"] = object["linear_num_value_heads"] = 20;
  EXPECT_EQ(read(object).recurrent.key_dim, 144);
  EXPECT_EQ(read(object).recurrent.value_dim, 288);
  object["linear_key_head_dim"] = 64;
  EXPECT_EQ(read(object).recurrent.value_dim, 128);
  // With fewer than four layers, the last has attention.
  object["num_hidden_layers"] = 3;
  const ModelConfig config = read(object);
  EXPECT_EQ(config.layers[1].mixer, Mixer::kDeltaNet);
  EXPECT_EQ(config.layers[2].mixer, Mixer::kAttention);
}

TEST(OlmoHybridConfig, ReadsWhatFilesMayChange) {
  json object = published();
  object.update({{"linear_allow_neg_eigval", false}, {"attention_bias", true}});
  const ModelConfig config = read(object);
  EXPECT_FALSE(config.recurrent.doubled_beta);
  EXPECT_TRUE(config.qkv_bias && config.o_bias);
}

TEST(OlmoHybridConfig, RotatesByTheThetaThatIsThere) {
  const std::vector<RopeConfig> none = {{.rotary_share = 0.0}}, some = {{.theta = 5e5}};
  EXPECT_EQ(read(published()).rotations, none);
  EXPECT_EQ(read(rotating()).rotations, some);
  json object = published();
  object.erase("rope_parameters");
  object["rope_theta"] = nullptr;
  EXPECT_EQ(read(object).rotations, none);
  object["rope_theta"] = 5e5;
  EXPECT_EQ(read(object).rotations, some);
  // The library's theta.
  object.erase("rope_theta");
  object["rope_parameters"] = {{"rope_type", "default"}};
  EXPECT_EQ(read(object).rotations, std::vector<RopeConfig>{RopeConfig()});
}

TEST(OlmoHybridConfig, RefusesByNameWhatIsNotOffered) {
  const ErrorCode bad = ErrorCode::kBadFile, unsupported = ErrorCode::kUnsupported;
  expect_error(published(), {{"rope_parameters", nullptr}}, bad,
               {"'rope_parameters' is null, expected an object with 'rope_theta'"});
  expect_error(published(), {{"sliding_window", 4096}}, unsupported, {"sliding_window"});
  expect_error(published(), {{"hidden_act", "gelu"}}, unsupported, {"hidden_act", "silu"});
  expect_error(published(), {{"linear_allow_neg_eigval", 1}}, bad, {"linear_allow_neg_eigval"});
  expect_error(published(), {{"linear_num_value_heads", 45}}, bad,
               {"linear_num_value_heads", "45", "linear_num_key_heads", "30"});
  expect_error(published(), {{"linear_key_head_dim", 30}}, bad, {"linear_key_head_dim", "30"});
  expect_error(published(), {{"linear_conv_kernel_dim", 17}}, bad, {"linear_conv_kernel_dim"});
  expect_error(published(), {{"layer_types", std::vector<std::string>(32, "linear_attention")}},
               unsupported, {"'layer_types' names no layer with attention"});
  expect_error(published(), {{"layer_types", {"full_attention", "sliding_attention"}}}, unsupported,
               {"layer_types"});
}

}  // namespace
}  // namespace pando::model::olmo_hybrid_config_test
