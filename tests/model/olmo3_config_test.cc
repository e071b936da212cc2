// Configurations of OLMo 3.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::olmo3_test {
namespace {

using nlohmann::json;
using namespace config_json;

json olmo3(const json& change = json::object()) {
  return decoder("Olmo3ForCausalLM", "olmo3", change);
}

TEST(DenseConfig, ReadsOlmo3) {
  const ModelConfig usual = read(olmo3());
  EXPECT_EQ(windows(usual), (Ints{4096, 4096, 4096, 0}));
  EXPECT_EQ(rotations(usual), (Ints{1, 1, 1, 0}));
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.qk_norm, QkNorm::kFullWidth);
  // As first published: the fields are those of the layers that see all.
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

}  // namespace
}  // namespace pando::model::olmo3_test
