// Configurations of ERNIE 4.5, without mixtures of experts.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/config.h"
#include "model/config_json.h"

namespace pando::model::ernie4_5_test {
namespace {

using nlohmann::json;
using namespace config_json;

json ernie4_5(const json& change = json::object()) {
  return decoder("Ernie4_5ForCausalLM", "ernie4_5", change);
}

TEST(DenseConfig, ReadsErnie4_5) {
  const ModelConfig usual = read(ernie4_5());
  EXPECT_EQ(usual.head_dim, 128);
  EXPECT_EQ(usual.rms_eps, 1e-5f);
  EXPECT_EQ(usual.rotations[0].theta, 5e5);
  EXPECT_TRUE(usual.tied_embeddings);
  const ModelConfig derived =
      read(ernie4_5({{"head_dim", nullptr}, {"num_key_value_heads", nullptr}}));
  EXPECT_EQ(derived.head_dim, 16);
  EXPECT_EQ(derived.n_kv_heads, 4);
  json absent = ernie4_5();
  absent.erase("num_key_value_heads");
  expect_error(absent, {"num_key_value_heads", "absent"}, ErrorCode::kBadFile);
  EXPECT_EQ(read(ernie4_5({{"architectures", {"Ernie4_5_ForCausalLM"}}})), usual);
  expect_error(ernie4_5({{"use_bias", true}}), {"use_bias"});
}

}  // namespace
}  // namespace pando::model::ernie4_5_test
