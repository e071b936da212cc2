#include "cli/faster_types.h"

#include <gtest/gtest.h>

namespace pando::cli {
namespace {

ModelInfo model_of(int64_t n_parameters, const char* type) {
  ModelInfo info{};
  info.n_parameters = n_parameters;
  info.weight_type = type;
  return info;
}

TEST(FasterTypes, AreNamedWithTheirPrice) {
  EXPECT_EQ(faster_types(model_of(600'000'000, "bf16"), "avx512bf16"),
            "the weights are bf16; with --weights q8_0 prompts were read 2.5 times as fast as with "
            "bf16 on a machine with avx512bf16, and perplexity changed by at most 0.27% (page "
            "\"What smaller types cost\")");
  const std::string on_amx = faster_types(model_of(600'000'000, "f32"), "amx");
  EXPECT_NE(on_amx.find("are f32;"), std::string::npos) << on_amx;
  EXPECT_NE(on_amx.find(" 2.9 times "), std::string::npos) << on_amx;
}

TEST(FasterTypes, NothingIsSaidThatWasNotMeasured) {
  EXPECT_EQ(faster_types(model_of(600'000'000, "bf16"), "avx2"), "") << "1.2 times as fast";
  EXPECT_EQ(faster_types(model_of(600'000'000, "bf16"), "portable"), "");
  EXPECT_EQ(faster_types(model_of(600'000'000, "q4_K"), "amx"), "");
  EXPECT_EQ(faster_types(model_of(9'000'000, "bf16"), "amx"), "") << "a small model";
}

}  // namespace
}  // namespace pando::cli
