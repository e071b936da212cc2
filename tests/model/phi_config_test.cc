// Phi-1, Phi-1.5 and Phi-2.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/config_json.h"
#include "model/family.h"
#include "model/gguf_model.h"
#include "model/weight_specs.h"

namespace pando::model::phi_test {
namespace {

using config_json::expect_error;
using config_json::read;
using nlohmann::json;

json phi(const json& change = json::object()) {
  return config_json::decoder("PhiForCausalLM", "phi", change);
}

TEST(PhiConfig, HasTheDefaultsOfTheLibrary) {
  const ModelConfig usual = read(phi());
  EXPECT_EQ(usual.norm, Norm::kLayer);
  EXPECT_TRUE(usual.norm_bias && usual.qkv_bias && usual.o_bias && usual.feed_forward_bias);
  EXPECT_TRUE(usual.head_bias && usual.parallel);
  EXPECT_FALSE(usual.tied_embeddings);
  EXPECT_EQ(usual.activation, Activation::kUngatedGeluTanh);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0].rotary_dim(16), 8);
  EXPECT_EQ(read(phi({{"hidden_act", "gelu_new"},
                      {"layer_norm_eps", 1e-5},
                      {"partial_rotary_factor", 0.5},
                      {"qk_layernorm", false},
                      {"rope_scaling", nullptr}})),
            usual);
}

TEST(PhiConfig, ReadsOtherValues) {
  const ModelConfig config = read(phi({{"num_key_value_heads", nullptr},
                                       {"hidden_act", "gelu"},
                                       {"layer_norm_eps", 1e-3},
                                       {"partial_rotary_factor", 0.25},
                                       {"tie_word_embeddings", true}}));
  EXPECT_EQ(config.n_kv_heads, 4);
  EXPECT_EQ(config.activation, Activation::kUngatedGelu);
  EXPECT_EQ(config.rms_eps, 1e-3f);
  EXPECT_EQ(config.rotations[0].rotary_dim(16), 4);
  EXPECT_TRUE(config.tied_embeddings && config.head_bias);
  // Phi-2: 0.4 of 80 channels.
  EXPECT_EQ(named_shape("phi-2")->rotations[0].rotary_dim(80), 32);
}

TEST(PhiConfig, RefusesWhatItDoesNotCompute) {
  expect_error(phi({{"qk_layernorm", true}}), {"'qk_layernorm' is true", "expected false"});
  expect_error(phi({{"hidden_act", "silu"}}), {"'hidden_act' is \"silu\"", "\"gelu_new\""});
  expect_error(phi({{"attention_bias", true}}), {"attention_bias", "phi"});
  expect_error(phi({{"sliding_window", 64}}), {"sliding_window"});
}

TEST(PhiConfig, NamesItsTensors) {
  const ModelConfig config = read(phi());
  std::vector<std::string> names;
  for (const WeightSpec& spec : config.family->layer_weights(config, 0))
    names.push_back(spec.name.substr(std::string("model.layers.0.").size()));
  EXPECT_EQ(names, (std::vector<std::string>{
                       "input_layernorm.weight", "input_layernorm.bias", "self_attn.q_proj.weight",
                       "self_attn.q_proj.bias", "self_attn.k_proj.weight", "self_attn.k_proj.bias",
                       "self_attn.v_proj.weight", "self_attn.v_proj.bias", "self_attn.dense.weight",
                       "self_attn.dense.bias", "mlp.fc1.weight", "mlp.fc1.bias", "mlp.fc2.weight",
                       "mlp.fc2.bias"}));
  std::vector<WeightSpec> ends = end_specs(config);
  std::erase_if(ends, [](const WeightSpec& spec) { return spec.role != Role::kFinalNorm; });
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(ends[0].name, "model.final_layernorm.weight");
  EXPECT_EQ(ends[1].name, "model.final_layernorm.bias");
}

class PhiGguf : public GgufModel {};

TEST_F(PhiGguf, SaysHowManyChannelsRotate) {
  for (const double share : {0.25, 0.5, 1.0}) {
    make("tiny-phi", DType::kF32);
    json object = json::parse(ModelConfig::load(folder_.path())->to_json(DType::kF32));
    object["partial_rotary_factor"] = share;
    folder_.write("config.json", object.dump());
    const ModelConfig of_checkpoint = ModelConfig::load(folder_.path()).value();
    EXPECT_EQ(of_checkpoint.rotations[0].rotary_share, share);
    EXPECT_EQ(ModelConfig::load(convert({.matrices = DType::kF32})).value(), of_checkpoint);
  }
}

}  // namespace
}  // namespace pando::model::phi_test
