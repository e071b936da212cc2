// Products on an emulated GPU equal those of plain loops.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "exec/gpu/products.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/matrix.h"
#include "kernel/linear_testing.h"

namespace pando::exec::gpu {
namespace {

using kernel::kTypes;

scalar::Matrix matrix_of(const kernel::Weights& w) {
  scalar::Matrix matrix(w.type, w.n, w.k);
  for (int row = 0; row < w.n; ++row)
    EXPECT_TRUE(matrix.set_row(row, w.stored_type(), static_cast<const std::byte*>(w.row(row))));
  return matrix;
}

scalar::Rows as_rows(const std::vector<float>& x, int m) {
  scalar::Rows rows(static_cast<uint32_t>(m), x.size() / m);
  rows.values = x;
  return rows;
}

std::vector<float> plain_product(const scalar::Matrix& matrix, const std::vector<float>& x, int m) {
  ThreadPool pool(1);
  return scalar::multiply(matrix, as_rows(x, m), pool).values;
}

std::vector<float> product(Host& host, const scalar::Matrix& matrix, const std::vector<float>& x,
                           int m) {
  const Matrix packed = Matrix::pack(host, matrix);
  Products products(host);
  Rows y;
  products.multiply(std::span(&packed, 1), upload(host, as_rows(x, m)), y);
  return download(host, y);
}

constexpr struct {
  int n, k, m;
} kShapes[] = {{1, 2, 1}, {17, 34, 3}, {9, 1100, 16}, {71, 96, 17}, {66, 358, 67}};

TEST(GpuProducts, AreThoseOfPlainLoopsInEveryOrderOfThreads) {
  for (const DType type : kTypes)
    for (const auto [n, least_k, m] : kShapes) {
      const int k = kernel::whole(type, least_k);
      const scalar::Matrix matrix = matrix_of(kernel::Weights(type, n, k, 1));
      const std::vector<float> x = kernel::normal(size_t(m) * k, 2);
      SCOPED_TRACE(fmt::format("{} {}x{}x{}", dtype_name(type), m, n, k));
      expect_bits(plain_product(matrix, x, m),
                  [&](Host& host) { return product(host, matrix, x, m); });
    }
}

TEST(GpuProducts, AreThoseOfPlainLoopsAtEveryMagnitude) {
  EmulatedHost host;
  for (const DType type : kernel::kMadeTypes)
    for (const int exponent : {-140, -126, -101, -99, -51, -49, 0, 10})
      for (const int m : {3, 20}) {
        kernel::Weights w(type, 17, 64, 20);
        std::vector<float> x = kernel::normal(size_t(m) * 64, 21);
        for (float& value : w.exact) value = std::ldexp(value, exponent);
        for (float& value : x) value = std::ldexp(value, exponent);
        std::fill_n(x.begin(), 32, 0.0f);
        const scalar::Matrix matrix = matrix_of(w);
        EXPECT_TRUE(same_bits(plain_product(matrix, x, m), product(host, matrix, x, m)))
            << dtype_name(type) << " 2^" << exponent;
      }
}

TEST(GpuProducts, ReadFewBytesOfWeights) {
  EmulatedHost host;
  const struct {
    DType type;
    size_t group_bytes;
  } sizes[] = {{DType::kQ8_0, 34}, {DType::kQ4_0, 18},   {DType::kQ4_1, 20},
               {DType::kQ5_1, 24}, {DType::kIQ4_NL, 18}, {DType::kMXFP4, 18},
               {DType::kQ4_K, 24}, {DType::kQ5_K, 28},   {DType::kQ6_K, 28}};
  for (const auto [type, group_bytes] : sizes) {
    const Matrix matrix = Matrix::pack(host, matrix_of(kernel::Weights(type, 9, 256, 3)));
    EXPECT_EQ(matrix.bytes(), 16 * 8 * group_bytes) << dtype_name(type);  // 16 rows of 8 groups
  }
}

TEST(GpuProducts, OutputsOfAStackStandOneAfterAnother) {
  EmulatedHost host;
  const std::vector<float> x = kernel::normal(2 * 64, 3);
  Stack stack;
  std::vector<std::vector<float>> parts;
  for (const DType type : {DType::kQ8_0, DType::kF32, DType::kQ4_0, DType::kBF16Dot, DType::kI8}) {
    const scalar::Matrix matrix = matrix_of(kernel::Weights(type, 5, 64, 1));
    stack.push_back(Matrix::pack(host, matrix));
    parts.push_back(plain_product(matrix, x, 2));
  }
  Products products(host);
  Rows y;
  products.multiply(stack, upload(host, as_rows(kernel::normal(64, 4), 1)),
                    y);  // call with other inputs first
  products.multiply(stack, upload(host, as_rows(x, 2)), y);
  ASSERT_EQ(y.width, 25u);
  const std::vector<float> all = download(host, y);
  for (size_t row = 0; row < 2; ++row)
    for (size_t i = 0; i < 25; ++i) EXPECT_EQ(all[row * 25 + i], parts[i / 5][row * 5 + i % 5]);
}

TEST(GpuProducts, NeedEveryBarrier) {
  Barriers barriers;
  const int k = 1120;
  for (const DType type : {DType::kQ4_1, DType::kI8, DType::kF16, DType::kBF16Dot})
    for (const int m : {3, 20}) {
      const scalar::Matrix matrix = matrix_of(kernel::Weights(type, 24, k, 5));
      const std::vector<float> x = kernel::normal(size_t(m) * k, 6);
      barriers.expect(plain_product(matrix, x, m),
                      [&](Host& host) { return product(host, matrix, x, m); });
    }
  EXPECT_EQ(barriers.met, barriers.needed);
  EXPECT_FALSE(barriers.met.empty());
}

}  // namespace
}  // namespace pando::exec::gpu
