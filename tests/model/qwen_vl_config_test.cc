// Configurations of Qwen2-VL, Qwen2.5-VL and Qwen3-VL, without mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/family.h"

namespace pando::model::qwen_vl_test {
namespace {

using nlohmann::json;
using namespace config_json;

// The fields of the part that reads texts are in 'text_config' or at the top level.
TEST(DenseConfig, ReadsThePartOfQwenVlThatReadsText) {
  const json sections = {{"mrope_section", {4, 2, 2}}};
  const auto part = [&](const char* type, json rope) {
    rope.update(sections);
    json text = decoder("", type, {{"head_dim", 16}, {"rope_theta", 5e6}, {"rope_scaling", rope}});
    text.erase("architectures");
    return text;
  };
  const json nested = {{"architectures", {"Qwen3VLForConditionalGeneration"}},
                       {"model_type", "qwen3_vl"},
                       {"tie_word_embeddings", true},
                       {"text_config", part("qwen3_vl_text", {{"rope_type", "default"},
                                                              {"mrope_interleaved", true}})},
                       {"vision_config", {{"depth", 24}, {"hidden_size", 1024}}}};
  const ModelConfig qwen3 = read(nested);
  EXPECT_EQ(qwen3.family, find_family("qwen3_vl_text"));
  EXPECT_EQ(qwen3.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(qwen3.rotations[0].theta, 5e6);
  EXPECT_EQ(qwen3.rotations[0].type, RopeType::kDefault);
  EXPECT_TRUE(qwen3.tied_embeddings);

  json flat = part("qwen2_5_vl", {{"type", "mrope"}});
  flat["architectures"] = {"Qwen2_5_VLForConditionalGeneration"};
  flat["use_sliding_window"] = false;
  flat["sliding_window"] = 32768;
  flat["vision_config"] = {{"depth", 32}, {"hidden_size", 1280}};
  const ModelConfig qwen2 = read(flat);
  EXPECT_EQ(qwen2.family, find_family("qwen2_5_vl_text"));
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_EQ(qwen2.layers[0].window, 0);
  EXPECT_EQ(qwen2.d_model, 64);
  json wrapped = {{"model_type", "qwen2_5_vl"}, {"text_config", flat}};
  wrapped["text_config"]["model_type"] = "qwen2_5_vl_text";
  EXPECT_EQ(read(wrapped), qwen2);
  wrapped["model_type"] = "qwen2_vl";
  wrapped["text_config"]["model_type"] = "qwen2_vl_text";
  EXPECT_EQ(read(wrapped), qwen2);
  wrapped["text_config"]["model_type"] = "llama";
  expect_error(wrapped, {"'text_config.model_type' is \"llama\" in a model of type \"qwen2_vl\""});
  flat["model_type"] = "qwen2_vl";
  flat["architectures"] = {"Qwen2VLForConditionalGeneration"};
  EXPECT_EQ(read(flat), qwen2);

  flat["use_sliding_window"] = true;
  expect_error(flat, {"use_sliding_window", "true", "expected false"});
  expect_error(decoder("LlamaForCausalLM", "llama", {{"rope_scaling", {{"type", "mrope"}}}}),
               {"rope_scaling", "mrope"});
}

}  // namespace
}  // namespace pando::model::qwen_vl_test
