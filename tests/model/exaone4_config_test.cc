// Configurations of EXAONE 4.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::exaone4_test {
namespace {

using nlohmann::json;
using namespace config_json;

json exaone4(const json& change = json::object()) {
  return decoder("Exaone4ForCausalLM", "exaone4", change);
}

TEST(DenseConfig, ReadsExaone4) {
  const ModelConfig usual = read(exaone4());
  EXPECT_EQ(usual.qk_norm, QkNorm::kPerHead);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_FALSE(usual.tied_embeddings);
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{0, 0, 0, 1}));
  EXPECT_EQ(usual.rotations[1].rotary_dim(16), 0);
  // Only layers of a model with windows may lack the rotation.
  const ModelConfig full = read(exaone4({{"sliding_window", nullptr}}));
  EXPECT_EQ(windows(full), (Ints{0, 0, 0, 0}));
  EXPECT_EQ(rotations(full), (Ints{0, 0, 0, 0}));
  const json none =
      json::array({"full_attention", "full_attention", "full_attention", "full_attention"});
  EXPECT_EQ(rotations(read(exaone4({{"layer_types", none}}))), (Ints{1, 1, 1, 1}));
  const ModelConfig config =
      read(exaone4({{"sliding_window", 9}, {"sliding_window_pattern", 2}, {"head_dim", 32}}));
  EXPECT_EQ(windows(config), (Ints{9, 0, 9, 0}));
  EXPECT_EQ(rotations(config), (Ints{0, 1, 0, 1}));
  EXPECT_EQ(config.head_dim, 32);
  // Published files have letters beside the list of layers.
  const json types = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
  const json letters = {{"sliding_window_pattern", "LLLG"}, {"sliding_window", 8}};
  json listed = letters;
  listed["layer_types"] = types;
  EXPECT_EQ(windows(read(exaone4(listed))), (Ints{8, 0, 0, 8}));
  expect_error(exaone4(letters), {"sliding_window_pattern", "LLLG", "an integer"},
               ErrorCode::kBadFile);
  expect_error(exaone4({{"attention_bias", true}}), {"attention_bias", "exaone4"});
}

}  // namespace
}  // namespace pando::model::exaone4_test
