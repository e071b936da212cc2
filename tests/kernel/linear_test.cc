// Matrix products against scalar code written from docs/arithmetic.md, and their promise: the same
// bits on every instruction set, for any number of rows and threads and at any place in a step.
#include "kernel/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/half.h"
#include "kernel/blocks.h"
#include "kernel/cpu/linear_layout.h"
#include "kernel/isas.h"
#include "kernel/weight_types.h"
#include "reference/reference_blocks.h"
#include "reference/reference_quantise.h"

namespace pando::kernel {
namespace {

constexpr DType kTypes[] = {DType::kF32,    DType::kF16,    DType::kBF16,  DType::kQ8_0,
                            DType::kQ4_0,   DType::kI8,     DType::kQ4_K,  DType::kQ4_1,
                            DType::kQ5_0,   DType::kQ5_1,   DType::kQ5_K,  DType::kQ6_K,
                            DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4, DType::kBF16Dot};

// Made from other types.
constexpr DType kMadeTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kI8, DType::kBF16Dot};

std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

uint16_t narrow(DType type, float x) {
  return type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
}
float widen(DType type, uint16_t x) { return type == DType::kF16 ? f16_to_f32(x) : bf16_to_f32(x); }

// A row of types in blocks is whole blocks.
int whole(DType type, int k) {
  const int len = std::max(1, reference::block_shape(type).len);
  return (k + len - 1) / len * len;
}

// Weights as a file stores them, row-major, and what they mean in f32.
struct Weights {
  Weights(DType type, int n, int k, uint32_t seed)
      : type(type), n(n), k(k), exact(normal(size_t(n) * k, seed)) {
    if (reference::comes_in_blocks(type)) {
      blocks = reference::random_blocks(type, int64_t{n} * k, seed);
      groups = reference::read_blocks(type, blocks.data(), int64_t{n} * k);
      for (size_t i = 0; i < exact.size(); ++i) exact[i] = groups[i / 32].value(i % 32);
    }
    if (type != DType::kF16 && type != DType::kBF16) return;
    for (float& v : exact) {
      bits.push_back(narrow(type, v));
      v = widen(type, bits.back());
    }
  }
  DType stored_type() const { return bits.empty() && blocks.empty() ? DType::kF32 : type; }
  const void* row(int i) const {
    if (!blocks.empty()) return &blocks[blocks.size() / n * i];
    return bits.empty() ? static_cast<const void*>(&exact[size_t(i) * k]) : &bits[size_t(i) * k];
  }
  // The n weights of a row from k on, as integers.
  reference::Quantised group(int row, int first, int n) const {
    const size_t at = size_t(row) * k + first;
    return blocks.empty() ? reference::quantise(&exact[at], n, type) : groups[at / 32];
  }
  PackedMatrix pack() const {
    PackedMatrix packed(type, n, k);
    packed.set_rows(*kernels_for(Isa::kPortable), 0, n, stored_type(), row(0));
    return packed;
  }

  DType type;
  int n, k;
  std::vector<float> exact;                  // [n, k]
  std::vector<uint16_t> bits;                // [n, k] of f16 and bf16
  std::string blocks;                        // [n] rows of them
  std::vector<reference::Quantised> groups;  // [n, k / 32] of these
};

float reference_output(const Weights& w, int row, const float* x) {
  const float* weights = &w.exact[size_t(row) * w.k];
  float acc = 0.0f;
  if (w.type == DType::kBF16Dot) {
    for (int k = 0; k < w.k; k += 2)
      for (const int i : {k + 1, k})
        acc =
            std::fma(reference::rounded_for_dot(x[i]), reference::rounded_for_dot(weights[i]), acc);
    return acc;
  }
  if (dtype_size(w.type) != 0) {
    for (int k = 0; k < w.k; ++k) acc = std::fma(x[k], weights[k], acc);
    return acc;
  }
  const int group_len = w.type == DType::kI8 ? w.k : 32;
  for (int k = 0; k < w.k; k += group_len) {
    const int n = std::min(group_len, w.k - k);
    const reference::Quantised a = reference::quantise_by_amax(x + k, n);
    const reference::Quantised b = w.group(row, k, n);
    const float sum =
        w.type == DType::kI8
            ? static_cast<float>(std::inner_product(a.q.begin(), a.q.end(), b.q.begin(), 0))
            : reference::sum_of_products(a.q.data(), b.q.data(), static_cast<size_t>(n), b.factors);
    acc = std::fma(sum, a.scale * b.scale, acc);
    const float of_a = a.scale * static_cast<float>(std::accumulate(a.q.begin(), a.q.end(), 0));
    if (group_form(w.type).minima) acc = std::fma(of_a, -b.minimum, acc);
  }
  return acc;
}

// [m, n]
std::vector<float> reference(const Weights& w, const std::vector<float>& x, int m) {
  std::vector<float> y(size_t(m) * w.n);
  for (int r = 0; r < m; ++r)
    for (int i = 0; i < w.n; ++i)
      y[size_t(r) * w.n + i] = reference_output(w, i, &x[size_t(r) * w.k]);
  return y;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// [m, n]
std::vector<float> product(Isa isa, int n_threads, const PackedMatrix& w, const float* x, int m) {
  ThreadPool pool(n_threads);
  PackedRows scratch;
  std::vector<float> y(size_t(m) * w.n(), NAN);
  linear(*kernels_for(isa), pool, w, x, w.k(), m, y.data(), w.n(), scratch);
  return y;
}

// Rows and their products, times over: sets that take many rows at once compute them otherwise.
constexpr int kTimes = 5;
std::vector<float> repeated(const std::vector<float>& x) {
  std::vector<float> all;
  for (int i = 0; i < kTimes; ++i) all.insert(all.end(), x.begin(), x.end());
  return all;
}

// [m, n] of every instruction set, alone and among more rows, is `expected`.
void expect_everywhere(const PackedMatrix& w, const std::vector<float>& x, int m,
                       const std::vector<float>& expected) {
  for (const Isa isa : isas()) {
    EXPECT_TRUE(same_bits(product(isa, 2, w, x.data(), m), expected)) << kernels_for(isa)->name;
    EXPECT_TRUE(same_bits(product(isa, 1, w, repeated(x).data(), kTimes * m), repeated(expected)))
        << kernels_for(isa)->name;
  }
}

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
      linear(*kernels_for(isa), pool, w, x.data(), x_stride, m, y.data(), y_stride, scratch);
      for (int i = 0; i < m * y_stride; ++i) {
        const int r = i / y_stride, c = i % y_stride;
        ASSERT_EQ(y[i], c < n ? expected[size_t(r) * n + c] : 7.0f)
            << dtype_name(type) << " " << r << "," << c;
      }
    }
  }
}

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

// What a type that is packed as another's integers means is not rounded.
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
    // Blocks are what they are, of a deviation near 1/16 up to 1/5.
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

TEST(Linear, NoRowsIsNoWork) {
  ThreadPool pool(2);
  PackedRows scratch;
  linear(best_kernels(), pool, PackedMatrix(DType::kF32, 4, 2), nullptr, 2, 0, nullptr, 4, scratch);
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
