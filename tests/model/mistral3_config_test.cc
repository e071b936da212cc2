// Configurations of Ministral 3, and Mistral 3 with its part that reads images.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"
#include "model/family.h"
#include "model/make_model.h"

namespace pando::model::mistral3_test {
namespace {

using nlohmann::json;
using namespace config_json;

json ministral3(const json& change = json::object()) {
  return decoder("Ministral3ForCausalLM", "ministral3", change);
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
  text["model_type"] = "deepseek_v3";
  expect_error(wrapped(text), {"'text_config.model_type' is \"deepseek_v3\" in a model of type "
                               "\"mistral3\", expected mistral or ministral3"});
  text["model_type"] = "qwen2_vl_text";
  expect_error(wrapped(text), {"'text_config.model_type' is \"qwen2_vl_text\" in a model of type"});
  text["model_type"] = nullptr;
  EXPECT_EQ(read(wrapped(text)).family, find_family("mistral"));
}

}  // namespace
}  // namespace pando::model::mistral3_test
