// Fills matrices from elements, from blocks of files, and by conversion from other types.
#include <gtest/gtest.h>

#include "exec/cpu/kernel/read_weights.h"
#include "kernel/linear_testing.h"

namespace pando::kernel {
namespace {

TEST(Linear, MatrixFilledInPiecesIsTheSame) {
  const int n = 131, m = 3;
  for (const DType type : kTypes) {
    const int k = whole(type, 90);
    const std::vector<float> x = normal(size_t(m) * k, 7);
    const Weights weights(type, n, k, 8);
    PackedMatrix pieces(type, n, k);
    ThreadPool pool(4);
    pool.parallel_for(n, [&](int64_t row, int) {
      const int i = static_cast<int>(n - 1 - row);
      pieces.set_rows(best_kernels(), i, 1, weights.stored_type(), weights.row(i));
    });
    const PackedMatrix whole = weights.pack();
    ASSERT_EQ(pieces.bytes(), whole.bytes());
    EXPECT_EQ(std::memcmp(pieces.data(), whole.data(), whole.bytes()), 0) << dtype_name(type);
    EXPECT_TRUE(
        same_bits(product(best_kernels().isa, 1, pieces, x.data(), m), reference(weights, x, m)));
  }
}

TEST(Linear, WeightsAreMadeFromEveryStoredType) {
  const int n = 20, k = 64;
  for (const DType type : kMadeTypes) {
    for (const DType from : {DType::kF16, DType::kBF16}) {
      const Weights stored(from, n, k, 9);
      PackedMatrix packed(type, n, k);
      packed.set_rows(best_kernels(), 0, n, from, stored.row(0));
      Weights wide(type, n, k, 0);
      wide.exact = stored.exact;
      const std::vector<float> x = normal(k, 10);
      EXPECT_TRUE(
          same_bits(product(best_kernels().isa, 1, packed, x.data(), 1), reference(wide, x, 1)));
    }
  }
}

// Rows of blocks as files hold them, w: [n, k] f32.
std::vector<uint8_t> stored_blocks(DType type, const std::vector<float>& w) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < w.size(); i += 32) {
    const reference::Quantised group = reference::quantise(&w[i], 32, type);
    const uint16_t d = f32_to_f16(group.scale);
    bytes.push_back(static_cast<uint8_t>(d));
    bytes.push_back(static_cast<uint8_t>(d >> 8));
    for (int j = 0; j < (type == DType::kQ8_0 ? 32 : 16); ++j)
      bytes.push_back(static_cast<uint8_t>(
          type == DType::kQ8_0 ? group.q[j] : group.q[j] + 8 + 16 * (group.q[j + 16] + 8)));
  }
  return bytes;
}

// Blocks become the floats that they stand for, rounded where the elements are smaller.
TEST(Linear, BlocksAreWidenedToElements) {
  const int n = 20, k = 64;
  const std::vector<uint8_t> blocks = stored_blocks(DType::kQ4_0, normal(size_t(n) * k, 15));
  std::vector<float> wide(size_t(n) * k);
  read_weights(best_kernels(), DType::kQ4_0, reinterpret_cast<const std::byte*>(blocks.data()),
               n * k, wide.data());
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    PackedMatrix made(type, n, k);
    EXPECT_TRUE(made.set_rows(best_kernels(), 0, n, DType::kQ4_0, blocks.data()));
    std::vector<uint16_t> halves;
    for (const float w : wide)
      halves.push_back(type == DType::kF16 ? f32_to_f16(w) : f32_to_bf16(w));
    PackedMatrix expected(type, n, k);
    expected.set_rows(best_kernels(), 0, n, type,
                      type == DType::kF32 ? static_cast<const void*>(wide.data()) : halves.data());
    EXPECT_EQ(std::memcmp(made.data(), expected.data(), made.bytes()), 0) << dtype_name(type);
  }
  PackedMatrix small(DType::kF16, 1, k);
  wide[3] = 1e5f;  // beyond f16
  EXPECT_FALSE(small.set_rows(best_kernels(), 0, 1, DType::kF32, wide.data()));
}

TEST(Linear, StoredBlocksAreUsedAsTheyAre) {
  const int n = 50, k = 96;
  for (const DType type : {DType::kQ8_0, DType::kQ4_0}) {
    const Weights weights(type, n, k, 14);
    PackedMatrix packed(type, n, k);
    packed.set_rows(best_kernels(), 0, n, type, stored_blocks(type, weights.exact).data());
    const PackedMatrix made = weights.pack();
    EXPECT_EQ(std::memcmp(packed.data(), made.data(), made.bytes()), 0) << dtype_name(type);
  }
}

// No quantiser makes -128, yet a file may hold it.
TEST(Linear, EveryByteOfAStoredBlockHasItsValue) {
  const int n = 17, k = 256, m = 7;
  std::vector<uint8_t> bytes;
  for (int i = 0; i < n * k; ++i) {
    if (i % 32 == 0) bytes.insert(bytes.end(), {0x00, 0x3c});  // 1
    bytes.push_back(static_cast<uint8_t>(i));
  }
  PackedMatrix packed(DType::kQ8_0, n, k);
  packed.set_rows(best_kernels(), 0, n, DType::kQ8_0, bytes.data());
  std::vector<float> x(m * k);
  for (int i = 0; i < m * k; ++i) x[i] = i % 3 == 0 ? -127.0f : 127.0f;
  std::vector<float> expected(m * n);
  for (int r = 0; r < m; ++r)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < k; ++j) expected[r * n + i] += x[r * k + j] * static_cast<int8_t>(j);
  expect_everywhere(packed, x, m, expected);
}

// Every integer, scale and minimum of six bits, the largest sums and activations of zero.
TEST(Linear, Q4KHoldsAtTheExtremes) {
  const int n = 64, k = 256, m = 7;
  Weights weights(DType::kQ4_K, n, k, 0);
  for (int row = 0; row < n; ++row) {
    char* block = &weights.blocks[144 * row];
    std::fill_n(block + 4, 140, static_cast<char>(row % 4 == 0 ? 0xff : row * 73));
    for (int i = 0; i < 128 && row % 4 == 1; ++i) block[16 + i] = static_cast<char>(row * 4 + i);
  }
  weights.groups = reference::read_blocks(DType::kQ4_K, weights.blocks.data(), n * k);
  std::vector<float> x(m * k);
  for (int i = 0; i < m * k; ++i) {  // row 5 all positive, row 6 all negative
    const int row = i / k;
    x[i] = i / 32 % 4 == 1 ? 0.0f : row == 6 || i % 5 == row ? -3e30f : 3e30f;
  }
  expect_everywhere(weights.pack(), x, m, reference(weights, x, m));
}

// Every byte there is in the integers and factors of all types in blocks, the largest sums and
// activations of zero.
TEST(Linear, BlocksHoldAtTheExtremes) {
  const int n = 64, k = 256, m = 7;
  std::vector<float> x(m * k);
  for (int i = 0; i < m * k; ++i) {  // row 5 all positive, row 6 all negative
    const int row = i / k;
    x[i] = i / 32 % 4 == 1 ? 0.0f : row == 6 || i % 5 == row ? -3e20f : 3e20f;
  }
  for (const DType type : kTypes) {
    const reference::BlockShape shape = reference::block_shape(type);
    if (shape.len == 0) continue;
    Weights weights(type, n, k, 0);
    const size_t row_bytes = weights.blocks.size() / n;
    for (int row = 0; row < n; ++row)
      for (size_t i = 0; i < row_bytes; ++i) {
        const auto in_block = static_cast<int>(i % shape.bytes);
        const bool f16 = std::ranges::any_of(
            shape.f16_at, [&](int at) { return in_block == at || in_block == at + 1; });
        if (f16) continue;
        uint8_t byte = row == 0 ? 0xff : row == 1 ? 0x80 : static_cast<uint8_t>(row * 73 + i * 31);
        if (type == DType::kMXFP4 && in_block == 0) byte = static_cast<uint8_t>(row * 2);
        weights.blocks[row * row_bytes + i] = static_cast<char>(byte);
      }
    weights.groups = reference::read_blocks(type, weights.blocks.data(), n * k);
    SCOPED_TRACE(dtype_name(type));
    expect_everywhere(weights.pack(), x, m, reference(weights, x, m));
  }
}

// A type whose integers are packed as those of another type is not rounded.
TEST(Linear, Q3KBecomesQ6KWithoutRounding) {
  const int n = 37, k = 512, m = 5;
  const std::string blocks = reference::random_blocks(DType::kQ3_K, n * k, 15);
  PackedMatrix packed(DType::kQ6_K, n, k);
  EXPECT_TRUE(packed.set_rows(best_kernels(), 0, n, DType::kQ3_K, blocks.data()));
  Weights weights(DType::kQ6_K, n, k, 0);
  weights.groups = reference::read_blocks(DType::kQ3_K, blocks.data(), n * k);
  const std::vector<float> x = normal(size_t(m) * k, 16);
  expect_everywhere(packed, x, m, reference(weights, x, m));
}

// Packed weights take at most a tenth more than blocks of files do.
TEST(Linear, BlocksTakeWhatTheyTakeInFiles) {
  for (const DType type : kTypes) {
    if (!reference::comes_in_blocks(type)) continue;
    const int n = 48, k = 1024;
    EXPECT_LE(static_cast<double>(PackedMatrix(type, n, k).bytes()),
              1.1 * static_cast<double>(stored_bytes(type, int64_t{n} * k)))
        << dtype_name(type);
  }
}

TEST(Linear, FreshMatrixIsZero) {
  const std::vector<float> x = normal(3 * 256, 13), zero(3 * 21, 0.0f);
  for (const DType type : kTypes)
    for (const Isa isa : isas())
      EXPECT_TRUE(
          same_bits(product(isa, 1, PackedMatrix(type, 21, whole(type, 70)), x.data(), 3), zero));
}

TEST(Linear, ShapesThatCannotBePackedAreRefused) {
  EXPECT_THROW(PackedMatrix(DType::kF32, 4, 3), BugError);
  EXPECT_THROW(PackedMatrix(DType::kQ8_0, 0, 32), BugError);
  EXPECT_THROW(PackedMatrix(DType::kQ4_K, 4, 288), BugError);
  PackedMatrix w(DType::kBF16, 4, 2);
  const float row[2] = {};
  EXPECT_THROW(w.set_rows(best_kernels(), 4, 1, DType::kBF16, row), BugError);
  PackedMatrix q4_k(DType::kQ4_K, 1, 256);  // only from blocks
  EXPECT_THROW(q4_k.set_rows(best_kernels(), 0, 1, DType::kF32, std::vector<float>(256).data()),
               BugError);
}

TEST(PackedMatrix, SaysWhereNoScaleReaches) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const auto fits = [](DType type, float x) {
    std::vector<float> row(64, 1.0f);
    row[37] = x;
    return PackedMatrix(type, 1, 64).set_rows(best_kernels(), 0, 1, DType::kF32, row.data());
  };
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kI8}) {
    EXPECT_TRUE(fits(type, -5e5f));
    for (const float x : {nan, inf, -inf}) EXPECT_FALSE(fits(type, x));
  }
  EXPECT_TRUE(fits(DType::kQ8_0, 8.3e6f));
  EXPECT_FALSE(fits(DType::kQ8_0, -8.4e6f));
  EXPECT_FALSE(fits(DType::kQ4_0, 5.3e5f));
  EXPECT_TRUE(fits(DType::kI8, 1e30f));
  EXPECT_TRUE(fits(DType::kF32, inf));
}

}  // namespace
}  // namespace pando::kernel
