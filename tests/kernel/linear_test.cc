// Products with weights: every bit, on every instruction set.
#include <gtest/gtest.h>

#include "kernel/linear_testing.h"

namespace pando::kernel {
namespace {

TEST(Linear, IsTheReferenceOnEveryInstructionSet) {
  const struct {
    int n, k;
  } shapes[] = {{1, 2},   {15, 6},   {16, 32},  {17, 34},  {48, 64},
                {49, 96}, {80, 130}, {97, 300}, {65, 526}, {17, 1100}};
  for (const DType type : kTypes) {
    for (const auto [n, least_k] : shapes) {
      const int k = whole(type, least_k);
      const Weights w(type, n, k, 1);
      const PackedMatrix packed = w.pack();
      for (const int m : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 17, 33, 47}) {
        const std::vector<float> x = normal(size_t(m) * k, 2), expected = reference(w, x, m);
        for (const Isa isa : isas()) {
          ASSERT_TRUE(same_bits(product(isa, 2, packed, x.data(), m), expected))
              << kernels_for(isa)->name << " " << dtype_name(type) << " " << m << "x" << n << "x"
              << k;
        }
      }
    }
  }
}

void expect_rows_stand_alone(DType type, int m, int k) {
  const int n = 150;
  const PackedMatrix w = Weights(type, n, k, 3).pack();
  const std::vector<float> x = normal(size_t(m) * k, 4);
  for (const Isa isa : isas()) {
    if (isa == Isa::kPortable) continue;  // slow, and the first test's
    const std::vector<float> all = product(isa, 1, w, x.data(), m);
    EXPECT_TRUE(same_bits(product(isa, 3, w, x.data(), m), all)) << dtype_name(type);
    for (int first = 0, n_rows = 1; first + n_rows <= m;
         first += n_rows, n_rows = n_rows * 3 / 2 + 1) {
      const std::vector<float> part = product(isa, 2, w, &x[size_t(first) * k], n_rows);
      EXPECT_EQ(std::memcmp(part.data(), &all[size_t(first) * n], part.size() * sizeof(float)), 0)
          << dtype_name(type) << " rows " << first << " to " << first + n_rows;
    }
  }
}

TEST(Linear, RowsDoNotDependOnTheirNeighboursOrOnThreads) {
  for (const DType type : kTypes) {
    expect_rows_stand_alone(type, 523, whole(type, 1090));
    expect_rows_stand_alone(type, 130, whole(type, 6400));  // as few rows a tile as there may be
  }
}

TEST(Linear, PartsOfSeveralPanelsCoverAllOutputs) {
  const int n = 1700, k = 256;  // 36 panels; one row is enough work for several threads
  for (const DType type : kTypes) {
    const PackedMatrix w = Weights(type, n, k, 7).pack();
    for (const int m : {1, 4, 300}) {
      const std::vector<float> x = normal(size_t(m) * k, 8);
      for (const Isa isa : isas()) {
        if (isa == Isa::kPortable) continue;
        const std::vector<float> one = product(isa, 1, w, x.data(), m);
        EXPECT_EQ(std::count_if(one.begin(), one.end(), [](float v) { return std::isnan(v); }), 0);
        for (const int n_threads : {2, 3})
          EXPECT_TRUE(same_bits(product(isa, n_threads, w, x.data(), m), one))
              << dtype_name(type) << " " << m << " rows, " << n_threads << " threads";
      }
    }
  }
}

// Rows that are computed where they are packed, each once, and that serve weights of other types.
TEST(Linear, PackedRowsServeTypesThatReadTheSame) {
  const int m = 300, n = 50, k = 768;
  const std::vector<float> x = normal(size_t(m) * k, 8);
  ThreadPool pool(2);
  PackedRows packed;
  for (const Isa isa : isas()) {
    for (const DType a : kTypes) {
      std::vector<std::atomic<int>> asked(m);
      packed.pack(*kernels_for(isa), pool, a, m, k, [&](int row, float* own) {
        ++asked[row];
        std::copy_n(&x[size_t(row) * k], k, own);
        return own;
      });
      EXPECT_TRUE(std::all_of(asked.begin(), asked.end(), [](int times) { return times == 1; }));
      int n_served = 0;
      for (const DType b : kTypes) {
        if (!PackedRows::same_for(a, b)) continue;
        ++n_served;
        const PackedMatrix w = Weights(b, n, k, 9).pack();
        std::vector<float> y(size_t(m) * n, NAN);
        multiply(*kernels_for(isa), pool, w, packed, y.data(), n);
        EXPECT_TRUE(same_bits(y, product(isa, 1, w, x.data(), m)))
            << dtype_name(a) << " " << dtype_name(b);
      }
      EXPECT_EQ(n_served, a == DType::kF16 || a == DType::kBF16 ? 2 : is_grouped(a) ? 11 : 1);
    }
  }
}

TEST(Linear, ReadsAndWritesOnlyItsRows) {
  const int m = 11, n = 37, y_stride = 43;
  ThreadPool pool(2);
  PackedRows scratch;
  for (const DType type : kTypes) {
    const int k = whole(type, 70), x_stride = k + 11;
    const Weights weights(type, n, k, 5);
    const PackedMatrix w = weights.pack();
    const std::vector<float> dense = normal(size_t(m) * k, 6),
                             expected = reference(weights, dense, m);
    std::vector<float> x(size_t(m) * x_stride, NAN);
    for (int r = 0; r < m; ++r) std::copy_n(&dense[size_t(r) * k], k, &x[size_t(r) * x_stride]);
    for (const Isa isa : isas()) {
      std::vector<float> y(size_t(m) * y_stride, 7.0f);
      linear(*kernels_for(isa), pool, w, {x.data(), x_stride, m, y.data(), y_stride}, scratch);
      for (int i = 0; i < m * y_stride; ++i) {
        const int r = i / y_stride, c = i % y_stride;
        ASSERT_EQ(y[i], c < n ? expected[size_t(r) * n + c] : 7.0f)
            << dtype_name(type) << " " << r << "," << c;
      }
    }
  }
}

// The least products and sums, where an instruction would take for zero what arithmetic does not.
TEST(Linear, PairsOfBf16AreTheReferenceAtEveryMagnitude) {
  const int n = 33, k = 64, m = 9;
  for (const int exponent : {-149, -126, -60, -51, -50, -49, 0, 40}) {
    Weights weights(DType::kBF16Dot, n, k, 20);
    std::vector<float> x = normal(size_t(m) * k, 21);
    for (float& v : weights.exact) v = std::ldexp(v, exponent);
    for (float& v : x) v = std::ldexp(v, exponent);
    const PackedMatrix packed = weights.pack();
    const std::vector<float> expected = reference(weights, x, m);
    for (const Isa isa : isas())
      EXPECT_TRUE(same_bits(product(isa, 1, packed, x.data(), m), expected))
          << kernels_for(isa)->name << " 2^" << exponent;
  }
}

// The largest sum that int8 allows.
TEST(Linear, Int8SumsFitWhereverTheyAreOffered) {
  const int k = PackedMatrix::max_inputs(DType::kI8), n = 2;
  Weights weights(DType::kI8, n, k, 0);
  std::fill_n(weights.exact.begin(), k, 2.0f);
  std::fill_n(weights.exact.begin() + k, k, -2.0f);
  const int m = 3;
  std::vector<float> x(size_t(m) * k, 3.0f);
  std::fill_n(&x[k], k, -3.0f);
  const std::vector<float> expected = reference(weights, x, m);
  expect_everywhere(weights.pack(), x, m, expected);
  EXPECT_NEAR(expected[0], 6.0f * k, 1.0f);
  EXPECT_THROW(PackedMatrix(DType::kI8, n, k + 2), BugError);
}

TEST(Linear, IntegersHoldAtTheExtremes) {
  for (const DType type : kMadeTypes) {
    const int n = 50, k = 128, m = 7;
    Weights weights(type, n, k, 0);
    std::vector<float> x(size_t(m) * k);
    // Groups of full magnitude (sums as large as they get), of zeros, and of one value.
    for (int i = 0; i < n * k; ++i)
      weights.exact[i] = i / 32 % 3 == 0 ? 0.0f : i % 5 == 0 ? -1.0f : 1.0f;
    for (int i = 0; i < m * k; ++i) x[i] = i / 32 % 4 == 1 ? 0.0f : i % 5 == 0 ? -3e30f : 3e30f;
    std::fill_n(&x[5 * k], k, 3e30f);
    std::fill_n(&x[6 * k], k, -3e30f);
    for (const int row : {2, 3}) std::fill_n(&weights.exact[row * k], k, row == 2 ? 1.0f : -1.0f);
    std::fill_n(&weights.exact[k], k, 0.0f);
    weights.exact[k + 40] = 1e-7f;
    SCOPED_TRACE(dtype_name(type));
    expect_everywhere(weights.pack(), x, m, reference(weights, x, m));
  }
}

TEST(Linear, IntegersAreCloseToTheExactProduct) {
  const int n = 64, k = 1024;
  for (const DType type : {DType::kQ8_0, DType::kQ4_0, DType::kI8, DType::kQ4_K, DType::kQ5_K,
                           DType::kQ6_K, DType::kIQ4_XS}) {
    const Weights weights(type, n, k, 11);
    const std::vector<float> x = normal(k, 12),
                             y = product(best_kernels().isa, 1, weights.pack(), x.data(), 1);
    // Steps of the weights and of the activations in deviations: the largest of 32 normal values is
    // about 2.1, of 1,024 about 3.4. Two rounded factors, k independent terms.
    const double amax = type == DType::kI8 ? 3.4 : 2.1;
    // Blocks have a deviation of 1/16 to 1/5.
    const double step = reference::comes_in_blocks(type)
                            ? 2.1 / 127 / 5
                            : std::hypot(amax / (type == DType::kQ4_0 ? 8 : 127), amax / 127);
    for (int i = 0; i < n; ++i) {
      double exact = 0.0;
      for (int j = 0; j < k; ++j) exact += double(x[j]) * weights.exact[size_t(i) * k + j];
      EXPECT_NEAR(y[i], exact, 5 * std::sqrt(k / 12.0) * step) << dtype_name(type) << " " << i;
    }
  }
}

// Groups of rows, each with a matrix of its own, are the products of each group alone.
TEST(Linear, GroupsOfRowsAreProductsOfTheirOwn) {
  const int n = 150;
  const std::vector<int> sizes = {1, 7, 300, 2, 64, 1};  // more than one tile, and single rows
  for (const DType type : {DType::kF32, DType::kBF16, DType::kQ8_0, DType::kI8, DType::kMXFP4}) {
    const int k = whole(type, 1090);
    std::vector<PackedMatrix> matrices;
    std::vector<const PackedMatrix*> of_groups;
    std::vector<int> ends;
    for (size_t i = 0; i < sizes.size(); ++i) {
      matrices.push_back(Weights(type, n, k, static_cast<uint32_t>(30 + i)).pack());
      ends.push_back((ends.empty() ? 0 : ends.back()) + sizes[i]);
    }
    for (const PackedMatrix& matrix : matrices) of_groups.push_back(&matrix);
    const int m = ends.back();
    const std::vector<float> x = normal(size_t(m) * k, 31);
    for (const Isa isa : isas()) {
      if (isa == Isa::kPortable) continue;
      for (const int n_threads : {1, 3}) {
        ThreadPool pool(n_threads);
        PackedRows packed;
        packed.pack(*kernels_for(isa), pool, type, ends, k,
                    [&](int row, float*) { return &x[size_t(row) * k]; });
        std::vector<float> y(size_t(m) * n, NAN);
        multiply(*kernels_for(isa), pool, of_groups, packed, y.data(), n);
        for (size_t i = 0, first = 0; i < sizes.size(); first = ends[i++]) {
          const std::vector<float> alone = product(isa, 1, matrices[i], &x[first * k], sizes[i]);
          EXPECT_EQ(std::memcmp(alone.data(), &y[first * n], alone.size() * sizeof(float)), 0)
              << dtype_name(type) << " group " << i;
        }
      }
    }
  }
}

TEST(Linear, GroupsOfFewSmallRowsAreNotShared) {
  ThreadPool pool(2);
  std::vector<PackedMatrix> matrices;
  for (uint32_t i = 0; i < 3; ++i) matrices.push_back(Weights(DType::kF32, 5, 8, i).pack());
  const std::vector<const PackedMatrix*> of_groups = {&matrices[0], &matrices[1], &matrices[2]};
  const std::vector<int> ends = {2, 2, 3};  // one group has no rows
  const std::vector<float> x = normal(3 * 8, 4);
  PackedRows packed;
  packed.pack(best_kernels(), pool, DType::kF32, ends, 8,
              [&](int row, float*) { return &x[size_t(row) * 8]; });
  std::vector<float> y(3 * 5, NAN);
  multiply(best_kernels(), pool, of_groups, packed, y.data(), 5);
  const std::vector<float> first = product(best_kernels().isa, 1, matrices[0], x.data(), 2);
  const std::vector<float> last = product(best_kernels().isa, 1, matrices[2], &x[16], 1);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), y.begin()));
  EXPECT_TRUE(std::equal(last.begin(), last.end(), y.begin() + 10));
}

TEST(Linear, NoRowsIsNoWork) {
  ThreadPool pool(2);
  PackedRows scratch;
  linear(best_kernels(), pool, PackedMatrix(DType::kF32, 4, 2), {nullptr, 2, 0, nullptr, 4},
         scratch);
}

}  // namespace
}  // namespace pando::kernel
