// Configurations of SmolLM3.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::smollm3_test {
namespace {

using nlohmann::json;
using namespace config_json;

json smollm3(const json& change = json::object()) {
  return decoder("SmolLM3ForCausalLM", "smollm3", change);
}

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

}  // namespace
}  // namespace pando::model::smollm3_test
