#include "base/numbers/weight_types.h"

#include <gtest/gtest.h>

#include <set>

namespace pando {
namespace {

TEST(WeightTypes, AreFoundByEveryName) {
  std::set<std::string_view> names;
  for (const WeightTypeInfo& info : weight_types()) {
    EXPECT_EQ(&info_of(info.type), &info);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(dtype_name(info.type), info.name);
    if (info.gguf_id >= 0) {
      EXPECT_EQ(find_gguf_type(static_cast<uint32_t>(info.gguf_id)), &info);
    }
    if (!info.safetensors.empty()) {
      EXPECT_EQ(find_safetensors_type(info.safetensors), &info);
    }
    if (info.made_as) {
      EXPECT_EQ(made_type(*info.made_as), info.type);
      EXPECT_EQ(weight_type_of(info.name), info.made_as);
      EXPECT_EQ(weight_type_name(*info.made_as), info.name);
    }
  }
  EXPECT_EQ(find_gguf_type(0xFFFF'FFFF), nullptr);
  EXPECT_EQ(find_safetensors_type(""), nullptr);
  EXPECT_EQ(weight_type_of("q4_K"), std::nullopt);  // not made
}

// A type of files can be read and checked, and becomes one that products take.
TEST(WeightTypes, OfFilesAreWhole) {
  for (const WeightTypeInfo& info : weight_types()) {
    const bool in_files = info.gguf_id >= 0 || !info.safetensors.empty();
    EXPECT_EQ(info.is_in_files(), in_files) << info.name;
    EXPECT_EQ(info.all_finite != nullptr, in_files) << info.name;
    EXPECT_EQ((info.read_block != nullptr) + (info.read_codes != nullptr), info.block_len > 1)
        << info.name;
    EXPECT_TRUE(info.becomes(info.codes)) << info.name;
    EXPECT_EQ(info_of(info.codes).codes, info.codes) << info.name;
    EXPECT_FALSE(info.read_codes != nullptr && info.read_block != nullptr) << info.name;
    EXPECT_EQ(dtype_size(info.type), info.block_len == 1 ? info.block_bytes : 0) << info.name;
  }
}

TEST(WeightTypes, ChoicesHaveNames) {
  EXPECT_EQ(weight_type_names(),
            (std::vector<std::string_view>{"stored", "f32", "f16", "bf16", "q8_0", "q4_0", "int8",
                                           "bf16_dot"}));
  EXPECT_EQ(weight_type_of("stored"), WeightType::kAsStored);
  EXPECT_EQ(weight_type_name(WeightType::kAsStored), "stored");
  EXPECT_EQ(weight_type_name(WeightType::kNone), "none");
  EXPECT_EQ(weight_type_of("none"), std::nullopt);
}

TEST(WeightTypes, AreCalledAsInGgufFiles) {
  for (const auto& [id, name] :
       {std::pair{0, "F32"}, {12, "Q4_K"}, {13, "Q5_K"}, {15, "Q8_K"}, {30, "BF16"}})
    EXPECT_EQ(gguf_type_name(static_cast<uint32_t>(id)), name);
  EXPECT_EQ(gguf_type_name(4'000'000'000u), "type 4000000000");
  EXPECT_EQ(
      gguf_type_names(),
      (std::vector<std::string_view>{
          "F32",   "F16",     "BF16",   "Q8_0",   "Q4_0",  "Q4_K",  "Q6_K", "Q4_1",    "Q5_0",
          "Q5_1",  "Q5_K",    "IQ4_NL", "IQ4_XS", "MXFP4", "Q2_K",  "Q3_K", "IQ2_XXS", "IQ2_XS",
          "IQ2_S", "IQ3_XXS", "IQ3_S",  "IQ1_S",  "IQ1_M", "TQ1_0", "TQ2_0"}));
}

}  // namespace
}  // namespace pando
