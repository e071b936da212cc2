// Products with weights of every type, and their expected values.
#pragma once

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
#include "base/numbers/blocks.h"
#include "base/numbers/weight_types.h"
#include "exec/cpu/kernel/cpu/linear_layout.h"
#include "exec/cpu/kernel/linear.h"
#include "kernel/isas.h"
#include "reference/reference_blocks.h"
#include "reference/reference_quantise.h"

namespace pando::kernel {

constexpr DType kTypes[] = {DType::kF32,    DType::kF16,    DType::kBF16,  DType::kQ8_0,
                            DType::kQ4_0,   DType::kI8,     DType::kQ4_K,  DType::kQ4_1,
                            DType::kQ5_0,   DType::kQ5_1,   DType::kQ5_K,  DType::kQ6_K,
                            DType::kIQ4_NL, DType::kIQ4_XS, DType::kMXFP4, DType::kBF16Dot};

// Made from other types.
constexpr DType kMadeTypes[] = {DType::kQ8_0, DType::kQ4_0, DType::kI8, DType::kBF16Dot};

inline std::vector<float> normal(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

inline uint16_t narrow(DType type, float x) {
  return type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
}
inline float widen(DType type, uint16_t x) {
  return type == DType::kF16 ? f16_to_f32(x) : bf16_to_f32(x);
}

// A row of types in blocks is whole blocks.
inline int whole(DType type, int k) {
  const int len = std::max(1, reference::block_shape(type).len);
  return (k + len - 1) / len * len;
}

// Weights as a file stores them, row-major, and their values in f32.
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

inline float reference_output(const Weights& w, int row, const float* x) {
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
inline std::vector<float> reference(const Weights& w, const std::vector<float>& x, int m) {
  std::vector<float> y(size_t(m) * w.n);
  for (int r = 0; r < m; ++r)
    for (int i = 0; i < w.n; ++i)
      y[size_t(r) * w.n + i] = reference_output(w, i, &x[size_t(r) * w.k]);
  return y;
}

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// [m, n]
inline std::vector<float> product(Isa isa, int n_threads, const PackedMatrix& w, const float* x,
                                  int m) {
  ThreadPool pool(n_threads);
  PackedRows scratch;
  std::vector<float> y(size_t(m) * w.n(), NAN);
  linear(*kernels_for(isa), pool, w, {x, w.k(), m, y.data(), w.n()}, scratch);
  return y;
}

// Rows and their products, times over: sets that take many rows at once compute them otherwise.
constexpr int kTimes = 5;
inline std::vector<float> repeated(const std::vector<float>& x) {
  std::vector<float> all;
  for (int i = 0; i < kTimes; ++i) all.insert(all.end(), x.begin(), x.end());
  return all;
}

// [m, n] of every instruction set, alone and among more rows, is `expected`.
inline void expect_everywhere(const PackedMatrix& w, const std::vector<float>& x, int m,
                              const std::vector<float>& expected) {
  for (const Isa isa : isas()) {
    EXPECT_TRUE(same_bits(product(isa, 2, w, x.data(), m), expected)) << kernels_for(isa)->name;
    EXPECT_TRUE(same_bits(product(isa, 1, w, repeated(x).data(), kTimes * m), repeated(expected)))
        << kernels_for(isa)->name;
  }
}

}  // namespace pando::kernel
