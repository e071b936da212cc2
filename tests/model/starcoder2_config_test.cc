// StarCoder2.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config_json.h"
#include "model/family.h"
#include "model/gguf_model.h"
#include "model/weight_specs.h"

namespace pando::model::starcoder2_test {
namespace {

using config_json::expect_error;
using config_json::Ints;
using config_json::read;
using nlohmann::json;

json starcoder2(const json& change = json::object()) {
  return config_json::decoder("Starcoder2ForCausalLM", "starcoder2", change);
}

TEST(StarCoder2Config, HasTheDefaultsOfTheLibrary) {
  const ModelConfig usual = read(starcoder2());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias && usual.qkv_bias && usual.o_bias && usual.feed_forward_bias);
  EXPECT_TRUE(usual.tied_embeddings);
  EXPECT_FALSE(usual.parallel || usual.head_bias);
  EXPECT_EQ(usual.activation, Activation::kUngatedGeluTanh);
  EXPECT_EQ(usual.n_inner(), 1);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(config_json::windows(usual), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(read(starcoder2({{"use_bias", true},
                             {"hidden_act", "gelu_pytorch_tanh"},
                             {"norm_epsilon", 1e-5},
                             {"sliding_window", nullptr},
                             {"tie_word_embeddings", true}})),
            usual);
}

TEST(StarCoder2Config, ReadsOtherValues) {
  const ModelConfig config = read(starcoder2({{"use_bias", false},
                                              {"hidden_act", "gelu"},
                                              {"norm_epsilon", 1e-3},
                                              {"sliding_window", 9},
                                              {"rope_theta", 999999.4420358813},
                                              {"tie_word_embeddings", false}}));
  EXPECT_FALSE(config.qkv_bias || config.o_bias || config.feed_forward_bias);
  EXPECT_TRUE(config.norm_bias);
  EXPECT_FALSE(config.tied_embeddings);
  EXPECT_EQ(config.activation, Activation::kUngatedGelu);
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.rotations[0].theta, 999999.4420358813);
  EXPECT_EQ(config_json::windows(config), (Ints{9, 9, 9, 9}));
}

TEST(StarCoder2Config, RefusesWhatItDoesNotCompute) {
  expect_error(starcoder2({{"hidden_act", "relu"}}),
               {"'hidden_act' is \"relu\"", "\"gelu_pytorch_tanh\""});
  expect_error(starcoder2({{"attention_bias", true}}), {"attention_bias", "starcoder2"});
  expect_error(starcoder2({{"mlp_bias", true}}), {"mlp_bias"});
  expect_error(starcoder2({{"use_parallel_residual", true}}), {"use_parallel_residual"});
  expect_error(starcoder2({{"partial_rotary_factor", 0.5}}), {"partial_rotary_factor"});
}

TEST(StarCoder2Config, NamesItsTensors) {
  const auto names = [](const ModelConfig& config) {
    std::vector<std::string> all;
    for (const WeightSpec& spec : config.family->layer_weights(config, 0))
      all.push_back(spec.name.substr(std::string("model.layers.0.").size()));
    return all;
  };
  EXPECT_EQ(names(read(starcoder2({{"use_bias", false}}))),
            (std::vector<std::string>{
                "input_layernorm.weight", "input_layernorm.bias", "self_attn.q_proj.weight",
                "self_attn.k_proj.weight", "self_attn.v_proj.weight", "self_attn.o_proj.weight",
                "post_attention_layernorm.weight", "post_attention_layernorm.bias",
                "mlp.c_fc.weight", "mlp.c_proj.weight"}));
  EXPECT_EQ(names(read(starcoder2())).size(), 16u);
}

class StarCoder2Gguf : public GgufModel {};

TEST_F(StarCoder2Gguf, SaysWindowAndBiases) {
  for (const bool bias : {true, false}) {
    make("tiny-starcoder2", DType::kF32);
    json object = json::parse(ModelConfig::load(folder_.path())->to_json(DType::kF32));
    object["use_bias"] = bias;
    object["sliding_window"] = 40;
    folder_.write("config.json", object.dump());
    const ModelConfig of_checkpoint = ModelConfig::load(folder_.path()).value();
    EXPECT_EQ(of_checkpoint.layers[1].window, 40);
    EXPECT_EQ(of_checkpoint.o_bias, bias);
    EXPECT_EQ(ModelConfig::load(convert({.matrices = DType::kF32})).value(), of_checkpoint);
  }
}

}  // namespace
}  // namespace pando::model::starcoder2_test
