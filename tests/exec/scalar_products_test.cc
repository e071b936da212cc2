// Products of every type of weights in plain loops, against the CPU's kernels.
#include <gtest/gtest.h>

#include "exec/scalar/matrix.h"
#include "kernel/linear_testing.h"

namespace pando::exec::scalar {
namespace {

using kernel::kTypes;
using kernel::same_bits;

Matrix matrix_of(const kernel::Weights& w) {
  Matrix matrix(w.type, w.n, w.k);
  for (int row = 0; row < w.n; ++row)
    EXPECT_TRUE(matrix.set_row(row, w.stored_type(), static_cast<const std::byte*>(w.row(row))));
  return matrix;
}

Rows rows_of(const std::vector<float>& x, int m) {
  Rows rows(static_cast<uint32_t>(m), x.size() / static_cast<size_t>(m));
  rows.values = x;
  return rows;
}

TEST(ScalarProducts, AreThoseOfTheKernels) {
  ThreadPool pool(2);
  const struct { int n, k, m; } shapes[] = {{1, 2, 1}, {17, 34, 3}, {49, 96, 5}, {33, 526, 9}};
  for (const DType type : kTypes)
    for (const auto [n, least_k, m] : shapes) {
      const int k = kernel::whole(type, least_k);
      const kernel::Weights w(type, n, k, 1);
      const std::vector<float> x = kernel::normal(size_t(m) * k, 2);
      const std::vector<float> y = multiply(matrix_of(w), rows_of(x, m), pool).values;
      EXPECT_TRUE(
          same_bits(y, kernel::product(kernel::best_kernels().isa, 1, w.pack(), x.data(), m)))
          << dtype_name(type) << " " << m << "x" << n << "x" << k;
    }
}

TEST(ScalarProducts, AreThoseOfTheKernelsAtEveryMagnitude) {
  ThreadPool pool(1);
  const int n = 17, m = 3;
  for (const DType type : kernel::kMadeTypes)
    for (const int exponent : {-140, -126, -101, -99, -51, -49, 0, 10}) {
      kernel::Weights w(type, n, 64, 20);
      std::vector<float> x = kernel::normal(size_t(m) * 64, 21);
      for (float& value : w.exact) value = std::ldexp(value, exponent);
      for (float& value : x) value = std::ldexp(value, exponent);
      std::fill_n(x.begin(), 32, 0.0f);
      const std::vector<float> y = multiply(matrix_of(w), rows_of(x, m), pool).values;
      EXPECT_TRUE(
          same_bits(y, kernel::product(kernel::best_kernels().isa, 1, w.pack(), x.data(), m)))
          << dtype_name(type) << " 2^" << exponent;
    }
}

TEST(ScalarProducts, OutputsOfAStackStandOneAfterAnother) {
  ThreadPool pool(1);
  const kernel::Weights first(DType::kQ8_0, 5, 64, 1), second(DType::kF32, 3, 64, 2);
  const Rows x = rows_of(kernel::normal(2 * 64, 3), 2);
  Stack stack;
  stack.push_back(matrix_of(first));
  stack.push_back(matrix_of(second));
  const Rows all = multiply(stack, x, pool);
  const Rows a = multiply(stack[0], x, pool), b = multiply(stack[1], x, pool);
  ASSERT_EQ(all.width, 8u);
  for (uint32_t row = 0; row < 2; ++row)
    for (size_t i = 0; i < 8; ++i)
      EXPECT_EQ(all.row(row)[i], i < 5 ? a.row(row)[i] : b.row(row)[i - 5]);
}

TEST(ScalarProducts, SaysThatWeightsAreTooLarge) {
  Matrix matrix(DType::kQ8_0, 1, 32);
  const std::vector<float> row(32, 1e30f);
  EXPECT_FALSE(matrix.set_row(0, DType::kF32, reinterpret_cast<const std::byte*>(row.data())));
}

}  // namespace
}  // namespace pando::exec::scalar
