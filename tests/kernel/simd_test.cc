// The sixteen-lane types as the tables expose them: conversions for every input, against the scalar
// code of base/half.h, and packed activations, byte for byte on every instruction set.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/half.h"
#include "exec/cpu/kernel/cpu/linear_block.h"
#include "exec/cpu/kernel/kernels.h"
#include "kernel/isas.h"

namespace pando::kernel {
namespace {

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

// Every pair of neighbours in f16 and bf16, the value between them and those next to that: all
// cases of rounding, subnormals and overflow; then values of every exponent.
std::vector<float> values_to_round() {
  std::vector<float> values;
  for (uint32_t half = 0; half < 0x10000; ++half) {
    for (const float v : {f16_to_f32(half), bf16_to_f32(half)}) {
      if (std::isnan(v)) continue;
      for (const uint32_t offset : {0u, 0x1000u, 0x8000u, 0x17000u})
        for (const uint32_t nudge : {0u, 1u, 0xffffffffu})
          values.push_back(std::bit_cast<float>(bits(v) + offset + nudge));
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 200'000; ++i) values.push_back(std::bit_cast<float>(uint32_t(random())));
  std::erase_if(values, [](float v) { return std::isnan(v); });
  return values;
}

TEST(Widen, EveryF16AndBF16IsTheScalarConversion) {
  std::vector<uint16_t> all(0x10000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const Isa isa : isas()) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      std::vector<float> wide(all.size());
      kernels_for(isa)->widen(type, all.data(), all.size(), wide.data());
      for (const uint16_t half : all) {
        const float expected = type == DType::kF16 ? f16_to_f32(half) : bf16_to_f32(half);
        if (std::isnan(expected))
          ASSERT_TRUE(std::isnan(wide[half]));
        else
          ASSERT_EQ(bits(wide[half]), bits(expected)) << kernels_for(isa)->name << " " << half;
      }
    }
  }
}

TEST(Widen, WritesNothingBeyondTheEnd) {
  for (const Isa isa : isas()) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
      for (int n = 0; n < 50; ++n) {
        const std::vector<uint32_t> zeros(n + 1);
        std::vector<float> wide(n + 20, 3.0f);
        kernels_for(isa)->widen(type, zeros.data(), n, wide.data());
        for (int i = 0; i < n + 20; ++i) ASSERT_EQ(wide[i], i < n ? 0.0f : 3.0f);
      }
    }
  }
}

TEST(NarrowKv, IsTheScalarConversionAndF16Saturates) {
  const std::vector<float> values = values_to_round();
  const int n = static_cast<int>(values.size());
  for (const Isa isa : isas()) {
    const Kernels& kernels = *kernels_for(isa);
    std::vector<uint16_t> f16(n), bf16(n);
    std::vector<float> f32(n);
    kernels.narrow_kv(DType::kF16, values.data(), n, f16.data());
    kernels.narrow_kv(DType::kBF16, values.data(), n, bf16.data());
    kernels.narrow_kv(DType::kF32, values.data(), n, f32.data());
    EXPECT_EQ(std::memcmp(f32.data(), values.data(), n * sizeof(float)), 0);
    for (int i = 0; i < n; ++i) {
      const float capped = std::fmin(std::fmax(values[i], -65504.0f), 65504.0f);
      ASSERT_EQ(f16[i], f32_to_f16(capped)) << kernels.name << " " << values[i];
      ASSERT_EQ(bf16[i], f32_to_bf16(values[i])) << kernels.name << " " << values[i];
    }
  }
}

TEST(NarrowKv, WritesNothingBeyondTheEnd) {
  for (const Isa isa : isas()) {
    for (const DType type : {DType::kF16, DType::kBF16}) {
      for (int n = 0; n < 50; ++n) {
        const std::vector<float> ones(n, 1.0f);
        std::vector<uint16_t> narrow(n + 20, 77);
        kernels_for(isa)->narrow_kv(type, ones.data(), n, narrow.data());
        for (int i = 0; i < n + 20; ++i) ASSERT_EQ(narrow[i] == 77, i >= n);
      }
    }
  }
}

// One row, quantised.
std::vector<QuantizedGroup> quantize(Isa isa, const std::vector<float>& x) {
  const int len = static_cast<int>(x.size());
  std::vector<QuantizedGroup> groups(2 * unit_count(DType::kQ8_0, len));
  kernels_for(isa)->pack_row({.type = DType::kQ8_0,
                              .x = x.data(),
                              .k = len,
                              .m = 1,
                              .row = 0,
                              .out = reinterpret_cast<std::byte*>(groups.data())});
  return groups;
}

TEST(Quantize, IsTheFormulaOnEveryInstructionSet) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (int len = 2; len < 200; len += 6) {
    std::vector<float> x(len);
    for (int i = 0; i < len; ++i) x[i] = i / 32 == 1 ? 0.0f : normal(random);
    for (const Isa isa : isas()) {
      const std::vector<QuantizedGroup> groups = quantize(isa, x);
      for (size_t g = 0; g < groups.size(); ++g) {
        float amax = 0.0f;
        int sum = 0, half_sum = 0;
        for (int i = 32 * g; i < std::min<int>(32 * g + 32, len); ++i)
          amax = std::fmax(amax, std::fabs(x[i]));
        for (int i = 0; i < 32; ++i) {
          const int at = 32 * g + i;
          const float v = at < len && amax > 0.0f ? x[at] * (127.0f / amax) : 0.0f;
          ASSERT_EQ(groups[g].q[i], static_cast<int>(std::nearbyint(v)));
          sum += groups[g].q[i];
          half_sum += i < 16 ? groups[g].q[i] : 0;
        }
        ASSERT_EQ(groups[g].scale, amax / 127.0f);
        ASSERT_EQ(groups[g].bias, -128 * sum);
        ASSERT_EQ(groups[g].half_bias, -128 * half_sum);
        ASSERT_EQ(groups[g].sum, amax / 127.0f * static_cast<float>(sum));
      }
    }
  }
}

TEST(Quantize, ARowOfInt8IsTheFormulaOnEveryInstructionSet) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int n = 1; n < 140; n += n < 40 ? 1 : 9)
    for (const float size : {0.0f, 1e-35f, 1.0f, 1e30f}) {
      std::vector<float> x(n);
      for (float& v : x) v = normal(random) * size;
      float amax = 0.0f;
      for (const float v : x) amax = std::fmax(amax, std::fabs(v));
      if (amax < 0x1p-100f) amax = 0.0f;
      for (const Isa isa : isas()) {
        std::vector<int8_t> q((n + 15) / 16 * 16);
        const QuantizedRow row = kernels_for(isa)->quantize(x.data(), n, q.data());
        int sum = 0;
        for (int i = 0; i < n; ++i) {
          ASSERT_EQ(q[i],
                    amax == 0.0f ? 0 : static_cast<int>(std::nearbyint(x[i] * (127.0f / amax))));
          sum += q[i];
        }
        ASSERT_EQ(row.scale, amax / 127.0f);
        ASSERT_EQ(row.bias, -128 * sum);
      }
    }
}

TEST(Quantize, NoInputLeavesTheRangeOrSplitsTheTables) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x(128, 1.0f);
  x[3] = kInf, x[40] = NAN, x[41] = 2.5f, x[64] = 1e-44f, x[66] = -1e-44f, x[100] = -kInf;
  for (int i = 65; i < 96; i += 3) x[i] = 0.0f;
  const std::vector<QuantizedGroup> expected = quantize(Isa::kPortable, x);
  for (const Isa isa : isas()) {
    const std::vector<QuantizedGroup> groups = quantize(isa, x);
    EXPECT_EQ(std::memcmp(groups.data(), expected.data(), sizeof(QuantizedGroup) * groups.size()),
              0);
    for (const QuantizedGroup& group : groups)
      for (const int8_t q : group.q) EXPECT_GE(q, -127);
    EXPECT_EQ(groups[1].q[40 - 32], 127) << "what is no number";
    // As keys, values and queries are, and as activations for int8 weights.
    std::vector<float> y(x.begin() + 32, x.end());  // without the first infinity
    y.resize(60);                                   // nor the last
    std::vector<int8_t> q(64), portable_q(64);
    const QuantizedRow row = kernels_for(isa)->quantize(y.data(), 60, q.data());
    const QuantizedRow same =
        kernels_for(Isa::kPortable)->quantize(y.data(), 60, portable_q.data());
    EXPECT_EQ(q[40 - 32], 127);
    EXPECT_TRUE(std::equal(q.begin(), q.begin() + 60, portable_q.begin()));
    EXPECT_EQ(row.scale, same.scale);
    EXPECT_EQ(row.bias, same.bias);
    std::vector<std::byte> packed(packed_row_bytes(DType::kI8, 1));
    kernels_for(isa)->pack_row(
        {.type = DType::kI8, .x = y.data(), .k = 60, .m = 1, .row = 0, .out = packed.data()});
    EXPECT_EQ(std::memcmp(&packed[sizeof(QuantizedRow)], q.data(), 60), 0);
  }
}

TEST(Pack, FloatActivationsInterleaveByRowBlock) {
  const int m = 3, len = 10;
  std::vector<float> x(m * len), packed(m * len);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  for (const Isa isa : isas()) {
    for (int row = 0; row < m; ++row)
      kernels_for(isa)->pack_row({.type = DType::kBF16,
                                  .x = &x[row * len],
                                  .k = len,
                                  .m = m,
                                  .row = row,
                                  .out = reinterpret_cast<std::byte*>(packed.data())});
    for (int i = 0; i < m * len; ++i) EXPECT_EQ(packed[i], x[i % m * len + i / m]);
  }
}

}  // namespace
}  // namespace pando::kernel
