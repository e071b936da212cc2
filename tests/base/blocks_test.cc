#include "base/numbers/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace pando {
namespace {

// The bytes with `value` at `at`.
template <class T>
std::vector<std::byte> with(std::vector<std::byte> bytes, size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof value);
  return bytes;
}

TEST(AllFinite, Elements) {
  constexpr int n = 67;
  const std::vector<std::byte> wide(4 * n), narrow(2 * n);
  for (const size_t i : {0, 1, 15, 16, 33, 63, 64, 66}) {
    for (const uint32_t bits : {0x7F800000u, 0xFF800000u, 0x7F800001u, 0xFFFFFFFFu})
      EXPECT_FALSE(all_finite(DType::kF32, with(wide, 4 * i, bits).data(), n));
    for (const uint32_t bits : {0x7F7FFFFFu, 0xFF7FFFFFu, 0x80000000u, 0x007FFFFFu})
      EXPECT_TRUE(all_finite(DType::kF32, with(wide, 4 * i, bits).data(), n));
    for (const uint16_t bits : {0x7C00, 0xFC00, 0x7C01, 0xFFFF})
      EXPECT_FALSE(all_finite(DType::kF16, with(narrow, 2 * i, bits).data(), n));
    for (const uint16_t bits : {0x7BFF, 0xFBFF, 0x8000, 0x03FF})
      EXPECT_TRUE(all_finite(DType::kF16, with(narrow, 2 * i, bits).data(), n));
    for (const uint16_t bits : {0x7F80, 0xFF80, 0x7F81, 0xFFFF})
      EXPECT_FALSE(all_finite(DType::kBF16, with(narrow, 2 * i, bits).data(), n));
    for (const uint16_t bits : {0x7F7F, 0xFF7F, 0x7C00, 0xFC00})
      EXPECT_TRUE(all_finite(DType::kBF16, with(narrow, 2 * i, bits).data(), n));
  }
  EXPECT_TRUE(all_finite(DType::kF32, nullptr, 0));
}

// A block's integers may be anything; its factors may not.
TEST(AllFinite, Blocks) {
  const struct {
    DType type;
    std::vector<size_t> factors;  // they lie here
  } cases[] = {{DType::kQ8_0, {0}},    {DType::kQ4_0, {0}},      {DType::kQ4_1, {0, 2}},
               {DType::kQ5_0, {0}},    {DType::kQ5_1, {0, 2}},   {DType::kQ4_K, {0, 2}},
               {DType::kQ5_K, {0, 2}}, {DType::kQ6_K, {208}},    {DType::kIQ4_NL, {0}},
               {DType::kIQ4_XS, {0}},  {DType::kQ2_K, {80, 82}}, {DType::kQ3_K, {108}},
               {DType::kIQ2_XXS, {0}}, {DType::kIQ2_XS, {0}},    {DType::kIQ2_S, {0}},
               {DType::kIQ3_XXS, {0}}, {DType::kIQ3_S, {0}},     {DType::kIQ1_S, {0}},
               {DType::kTQ1_0, {52}},  {DType::kTQ2_0, {64}}};
  for (const auto& [type, factors] : cases) {
    const int n_blocks = 3;
    const size_t each = block_bytes(type);
    std::vector<std::byte> good(n_blocks * each, std::byte{0xFF});
    for (int block = 0; block < n_blocks; ++block)
      for (const size_t at : factors) good = with(good, block * each + at, uint16_t{0x7BFF});
    const int64_t n = n_blocks * block_len(type);
    EXPECT_TRUE(all_finite(type, good.data(), n)) << dtype_name(type);
    for (int block = 0; block < n_blocks; ++block)
      for (const size_t at : factors)
        for (const uint16_t bits : {0x7C00, 0xFE00})
          EXPECT_FALSE(all_finite(type, with(good, block * each + at, bits).data(), n));
  }
}

// Scales that are powers of two: 12 times the largest must fit f32.
TEST(AllFinite, Powers) {
  const std::vector<std::byte> good(2 * 17, std::byte{252});
  EXPECT_TRUE(all_finite(DType::kMXFP4, good.data(), 64));
  for (const size_t block : {0, 17})
    for (const uint8_t power : {253, 254, 255})
      EXPECT_FALSE(all_finite(DType::kMXFP4, with(good, block, power).data(), 64));
}

// The scale lies in the upper four bits of four numbers, the first ones lowest.
TEST(AllFinite, ScalesInParts) {
  const std::vector<std::byte> zero(56);
  EXPECT_TRUE(all_finite(DType::kIQ1_M, zero.data(), 256));
  for (const uint8_t top : {0x7f, 0xff}) {
    const std::vector<std::byte> bytes = with(zero, 55, top);
    EXPECT_TRUE(all_finite(DType::kIQ1_M, bytes.data(), 256));
    EXPECT_FALSE(all_finite(DType::kIQ1_M, with(bytes, 53, uint8_t{0xc0}).data(), 256));
  }
}

}  // namespace
}  // namespace pando
