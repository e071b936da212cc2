// A GPU's operations on rows have the bits of plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "exec/gpu/row_ops.h"
#include "exec/gpu_testing.h"
#include "exec/scalar/feed_forward.h"
#include "exec/scalar/math.h"

namespace pando::exec::gpu {
namespace {

using model::Activation;
using model::Norm;

// Widths around one stage of shared memory, and far above it.
constexpr size_t kWidths[] = {1, 15, 24, 257, 2048, 4100};

model::ModelSpec spec_of(size_t width, Norm norm) {
  model::ModelSpec spec;
  spec.d_model = static_cast<int>(width);
  spec.norm = norm;
  spec.residual_scale = 0.22f;
  return spec;
}

void add_part_plainly(const model::ModelSpec& spec, const std::vector<float>& bias,
                      const std::vector<float>& norm, scalar::Rows y, scalar::Rows& x) {
  for (uint32_t row = 0; row < x.n; ++row) {
    float *const from = y.row(row), *const to = x.row(row);
    scalar::add(from, bias.data(), bias.size());
    if (!spec.post_norm) scalar::norm_row(spec, norm, from, from);
    scalar::scale(from, spec.residual_scale, y.width);
    scalar::add(to, from, y.width);
    if (spec.post_norm) scalar::norm_row(spec, norm, to, to);
  }
}

TEST(GpuRows, NormsAndResidualsHaveTheBitsOfPlainLoops) {
  ThreadPool pool(1);
  Barriers barriers;
  for (const size_t width : kWidths)
    for (const Norm norm : {Norm::kRms, Norm::kLayer})
      for (const size_t n_weights : {size_t{0}, width, 2 * width}) {
        model::ModelSpec spec = spec_of(width, norm);
        const std::vector<float> weight = normal(n_weights, 1), bias = normal(width, 2);
        const scalar::Rows x = random_rows(3, width, 3), y = random_rows(3, width, 4);
        barriers.expect(scalar::norm_rows(spec, weight, x, pool).values, [&](Host& host) {
          Rows normed;
          norm_rows(host, spec, Values::of(host, weight), upload(host, x), normed);
          norm_rows(host, spec, {}, normed, normed);
          return download(host, normed);
        });
        for (const bool post_norm : {false, true}) {
          spec.post_norm = post_norm;
          const std::vector<float> own_bias = post_norm ? bias : std::vector<float>();
          scalar::Rows expected = x;
          add_part_plainly(spec, own_bias, weight, y, expected);
          barriers.expect(expected.values, [&](Host& host) {
            Rows sums = upload(host, x);
            add_part(host, spec, Values::of(host, own_bias), Values::of(host, weight),
                     upload(host, y), sums);
            return download(host, sums);
          });
        }
      }
  EXPECT_EQ(barriers.met.size(), 3u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

TEST(GpuRows, RmsNormInPlace) {
  const scalar::Rows x = random_rows(2, 300, 5);
  const std::vector<float> weight = normal(300, 6);
  scalar::Rows expected = x;
  for (uint32_t row = 0; row < x.n; ++row)
    scalar::rms_norm(x.row(row), weight.data(), 0.5f, 300, expected.row(row));
  expect_bits(expected.values, [&](Host& host) {
    Rows rows = upload(host, x);
    norm_rows_rms(host, 0.5f, Values::of(host, weight), rows, rows);
    return download(host, rows);
  });
}

TEST(GpuRows, ActivationsHaveTheBitsOfPlainLoops) {
  constexpr size_t kWidth = 1030;
  model::ModelSpec spec;
  spec.activation_alpha = 1.702f;
  spec.activation_limit = 1.5f;
  for (const Activation activation :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kGeluErf, Activation::kClampedSilu,
        Activation::kSquaredRelu, Activation::kUngatedGelu, Activation::kUngatedGeluTanh}) {
    spec.activation = activation;
    const size_t inner_width = kWidth * spec.n_inner();
    scalar::Rows inner = random_rows(2, inner_width, 7);
    for (size_t i = 0; i < 60; ++i) inner.values[i] *= 40.0f;  // reaches the ends of exp2's range
    for (const bool has_bias : {false, true}) {
      const std::vector<float> bias = normal(has_bias ? inner_width : 0, 8);
      scalar::Rows expected(2, kWidth);
      for (uint32_t row = 0; row < 2; ++row) {
        std::vector<float> x(inner.row(row), inner.row(row) + inner_width);
        scalar::add(x.data(), bias.data(), bias.size());
        scalar::activate(spec, x.data(), kWidth, expected.row(row));
      }
      expect_bits(expected.values, [&](Host& host) {
        Rows active;
        activate(host, spec, Values::of(host, bias), upload(host, inner), active);
        return download(host, active);
      });
    }
  }
}

TEST(GpuRows, LogitsHaveTheBitsOfPlainLoops) {
  model::ModelSpec spec;
  spec.logit_divisor = 3.0f;
  spec.logit_scale = 0.7f;
  const scalar::Rows x = random_rows(2, 1500, 9);
  for (const float cap : {0.0f, 0.5f})
    for (const size_t n_bias : {size_t{0}, x.width}) {
      spec.logit_cap = cap;
      const std::vector<float> bias = normal(n_bias, 10);
      scalar::Rows expected = x;
      for (uint32_t row = 0; row < x.n; ++row) {
        scalar::add(expected.row(row), bias.data(), bias.size());
        for (size_t i = 0; i < x.width; ++i) {
          float& logit = expected.row(row)[i];
          logit = logit / 3.0f * 0.7f;
          if (cap > 0.0f) logit = scalar::soft_cap(logit, cap);
        }
      }
      expect_bits(expected.values, [&](Host& host) {
        Rows logits = upload(host, x);
        finish_logits(host, spec, Values::of(host, bias), logits);
        return download(host, logits);
      });
    }
}

TEST(GpuRows, TheLargestLogitHasTheLowestId) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  scalar::Rows x(5, 700);
  x.values = normal(x.values.size(), 11);
  for (const size_t i : {650, 300, 299}) x.row(0)[i] = 9.0f;
  std::fill_n(x.row(1), 700, -kInfinity);
  std::fill_n(x.row(2), 700, kNaN);
  std::fill_n(x.row(3), 700, kNaN);
  x.row(3)[0] = -kInfinity;
  x.row(3)[699] = -2.0f;
  x.row(4)[256] = x.row(4)[0] = 8.0f;
  x.row(4)[1] = kNaN;
  const std::vector<uint32_t> expected = {299, 0, 0, 699, 0};
  Barriers barriers;
  barriers.expect(expected, [&](Host& host) {
    Buffer ids;
    greatest(host, upload(host, x), ids);
    return download<uint32_t>(host, ids, 5);
  });
  EXPECT_EQ(barriers.met.size(), 1u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

TEST(GpuRows, PartsOfMixturesHaveTheBitsOfPlainLoops) {
  constexpr size_t kWidth = 1100;
  const std::vector<uint32_t> rows = {4, 0, 2};
  const std::vector<float> weights = normal(3, 12), bias = normal(kWidth, 13);
  const scalar::Rows x = random_rows(5, kWidth, 14);
  scalar::Rows expected = x;
  for (uint32_t i = 0; i < 3; ++i) {
    std::vector<float> y(x.row(rows[i]), x.row(rows[i]) + kWidth);
    scalar::scale(y.data(), 0.3f, kWidth);
    scalar::add(y.data(), bias.data(), kWidth);
    scalar::scale(y.data(), weights[i], kWidth);
    scalar::add(expected.row(rows[i]), y.data(), kWidth);
  }
  for (uint32_t row = 0; row < 5; ++row) scalar::add(expected.row(row), bias.data(), 1000);
  expect_bits(expected.values, [&](Host& host) {
    const Buffer chosen = upload(host, rows);
    Rows sums = upload(host, x), y;
    gather_rows(host, sums, chosen, 3, y);
    scale_rows(host, 0.3f, y);
    add_weighted_rows(host, y, chosen, upload(host, weights), Values::of(host, bias), sums);
    add_bias(host, Values::of(host, {bias.begin(), bias.begin() + 1000}), sums);
    return download(host, sums);
  });
}

TEST(GpuRows, GatesOfSharedExpertsHaveTheBitsOfPlainLoops) {
  Barriers barriers;
  for (const size_t width : kWidths) {
    const scalar::Rows h = random_rows(2, width, 15);
    const std::vector<float> gate = normal(width, 16);
    scalar::Rows expected = random_rows(2, 40, 17);
    const scalar::Rows y = expected;
    for (uint32_t row = 0; row < 2; ++row)
      scalar::scale(
          expected.row(row),
          scalar::sigmoid(scalar::dot16(h.row(row), gate.data(), static_cast<int>(width))), 40);
    barriers.expect(expected.values, [&](Host& host) {
      Rows gated = upload(host, y);
      scale_by_gate(host, upload(host, h), Values::of(host, gate), gated);
      return download(host, gated);
    });
  }
  EXPECT_EQ(barriers.met.size(), 3u);
  EXPECT_EQ(barriers.needed, barriers.met);
}

}  // namespace
}  // namespace pando::exec::gpu
