// Row-local operations: the same bits on every instruction set for every size, nothing read or
// written beyond the row, in place where the contract allows it, and close to the truth.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "exec/cpu/kernel/kernels.h"
#include "kernel/isas.h"
#include "reference/reference_math.h"
#include "reference/reference_recurrence.h"

namespace pando::kernel {
namespace {

using Floats = std::vector<float>;

constexpr int kGuard = 17;

// n normal values, then a guard that no operation may touch.
Floats row(int n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  Floats values(n + kGuard, NAN);
  for (int i = 0; i < n; ++i) values[i] = normal(random);
  return values;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Runs `operation` with every table and size; expects equal bits, an intact guard and finite
// values.
void expect_same_everywhere(const std::function<Floats(const Kernels&, int n)>& operation) {
  for (int n = 1; n <= 131; n += n < 70 ? 1 : 20) {
    const Floats expected = operation(*kernels_for(Isa::kPortable), n);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(std::isnan(expected[i]), i + kGuard >= expected.size()) << n << " at " << i;
    for (const Isa isa : isas())
      ASSERT_TRUE(same_bits(operation(*kernels_for(isa), n), expected))
          << kernels_for(isa)->name << " n " << n;
  }
}

TEST(RmsNorm, SameBitsEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 1), weight = row(n, 2);
    Floats y(x.size(), NAN), in_place = x;
    kernels.rms_norm(x.data(), weight.data(), 1e-6f, n, y.data());
    kernels.rms_norm(in_place.data(), weight.data(), 1e-6f, n, in_place.data());
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + n, in_place.begin()));
    return in_place;
  });
}

TEST(RmsNorm, IsTheFormulaBitForBit) {
  const int n = 77;
  const Floats x = row(n, 3), weight = row(n, 4);
  Floats y(n), lane(16, 0.0f);
  for (int i = 0; i < n; ++i) lane[i % 16] = std::fma(x[i], x[i], lane[i % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  const float r = 1.0f / std::sqrt(lane[0] / static_cast<float>(n) + 1e-5f);
  best_kernels().rms_norm(x.data(), weight.data(), 1e-5f, n, y.data());
  for (int i = 0; i < n; ++i) EXPECT_EQ(y[i], (x[i] * r) * weight[i]) << i;
}

TEST(RmsNorm, IsCloseToDouble) {
  const int n = 1000;
  const Floats x = row(n, 5), weight = row(n, 6);
  Floats y(n);
  best_kernels().rms_norm(x.data(), weight.data(), 1e-6f, n, y.data());
  double squares = 0.0;
  for (int i = 0; i < n; ++i) squares += double(x[i]) * x[i];
  for (int i = 0; i < n; ++i) {
    const double exact = x[i] / std::sqrt(squares / n + 1e-6) * weight[i];
    EXPECT_NEAR(y[i], exact, 1e-6 * std::fabs(exact)) << i;
  }
}

TEST(LayerNorm, SameBitsEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 1), weight = row(n, 2);
    Floats y(x.size(), NAN), in_place = x;
    kernels.layer_norm(x.data(), weight.data(), 1e-6f, n, y.data());
    kernels.layer_norm(in_place.data(), weight.data(), 1e-6f, n, in_place.data());
    EXPECT_TRUE(std::equal(y.begin(), y.begin() + n, in_place.begin()));
    return in_place;
  });
}

TEST(LayerNorm, IsTheFormulaBitForBit) {
  const int n = 77;
  const Floats weight = row(n, 4);
  Floats x = row(n, 3), y(n);
  for (int i = 0; i < n; ++i) x[i] += 0.7f;
  reference::layer_norm(x.data(), weight.data(), n, 1e-5f, y.data());
  best_kernels().layer_norm(x.data(), weight.data(), 1e-5f, n, x.data());
  for (int i = 0; i < n; ++i) EXPECT_EQ(x[i], y[i]) << i;
}

TEST(LayerNorm, IsCloseToDouble) {
  const int n = 1000;
  const Floats weight = row(n, 6);
  Floats x = row(n, 5), y(n);
  for (int i = 0; i < n; ++i) x[i] += 3.0f;
  best_kernels().layer_norm(x.data(), weight.data(), 1e-6f, n, y.data());
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < n; ++i) sum += x[i];
  for (int i = 0; i < n; ++i) squares += (x[i] - sum / n) * (x[i] - sum / n);
  for (int i = 0; i < n; ++i)
    EXPECT_NEAR(y[i], (x[i] - sum / n) / std::sqrt(squares / n + 1e-6) * weight[i], 5e-6) << i;
}

TEST(Rope, SameBitsEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int half) {
    Floats x = row(2 * half, 7);
    kernels.rope(x.data(), row(half, 8).data(), row(half, 9).data(), 2 * half);
    return x;
  });
}

TEST(Rope, IsTheFormulaAndKeepsLengths) {
  const int half = 21;
  const Floats before = row(2 * half, 10);
  Floats x = before, c(half), s(half);
  for (int i = 0; i < half; ++i) {
    c[i] = static_cast<float>(std::cos(0.3 * i));
    s[i] = static_cast<float>(std::sin(0.3 * i));
  }
  best_kernels().rope(x.data(), c.data(), s.data(), 2 * half);
  for (int i = 0; i < half; ++i) {
    const float a = before[i], b = before[i + half];
    EXPECT_EQ(x[i], std::fma(a, c[i], -(b * s[i])));
    EXPECT_EQ(x[i + half], std::fma(b, c[i], a * s[i]));
    EXPECT_NEAR(std::hypot(x[i], x[i + half]), std::hypot(a, b), 1e-6 * std::hypot(a, b));
  }
}

TEST(SoftCap, SameBitsEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    Floats x = row(n, 13, 40.0f);
    kernels.soft_cap(x.data(), 30.0f, n);
    return x;
  });
}

TEST(SoftCap, IsCloseToDouble) {
  const int n = 400;
  Floats x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = 0.7f * static_cast<float>(i - 200);
  x[0] = -1e30f;
  x[1] = 1e30f;
  y = x;
  best_kernels().soft_cap(y.data(), 30.0f, n);
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(y[i], 30.0 * std::tanh(x[i] / 30.0), 1e-5) << x[i];
    EXPECT_EQ(y[i], reference::capped(x[i], 30.0f)) << x[i];
  }
}

TEST(GeGlu, SameBitsEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    Floats gate = row(n, 11, 4.0f);
    const Floats up = row(n, 12);
    kernels.geglu(gate.data(), up.data(), n, gate.data());
    return gate;
  });
}

TEST(GeGlu, IsGeluByTanhTimesTheOther) {
  const int n = 400;
  Floats gate(n), up(n, 1.0f), out(n);
  for (int i = 0; i < n; ++i) gate[i] = 0.1f * static_cast<float>(i - 200);
  gate[0] = -1e30f;
  gate[1] = 1e30f;
  best_kernels().geglu(gate.data(), up.data(), n, out.data());
  for (int i = 0; i < n; ++i) {
    const double x = gate[i];
    const double u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    const double exact = 0.5 * x * (1.0 + std::tanh(u));
    EXPECT_NEAR(out[i], exact, 2e-6 * std::fabs(exact) + 1e-6) << x;
    EXPECT_EQ(out[i], reference::gelu(gate[i])) << x;
  }
}

TEST(Gelu, SameBitsEverywhereAndInPlace) {
  for (const auto gelu : {&Kernels::gelu, &Kernels::gelu_erf})
    expect_same_everywhere([&](const Kernels& kernels, int n) {
      const Floats x = row(n, 13, 4.0f);
      Floats out(x.size(), NAN), in_place = x;
      (kernels.*gelu)(x.data(), n, out.data());
      (kernels.*gelu)(in_place.data(), n, in_place.data());
      EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, in_place.begin()));
      return out;
    });
}

TEST(Gelu, IsCloseToDouble) {
  const int n = 4000;
  Floats x(n), by_tanh(n), by_erf(n);
  for (int i = 0; i < n; ++i) x[i] = 0.01f * static_cast<float>(i - 2000);
  x[0] = -1e30f;
  x[1] = 1e30f;
  best_kernels().gelu(x.data(), n, by_tanh.data());
  best_kernels().gelu_erf(x.data(), n, by_erf.data());
  for (int i = 0; i < n; ++i) {
    const double v = x[i], exact = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    EXPECT_NEAR(by_erf[i], exact, 5e-7 + 1e-7 * std::fabs(exact)) << v;
    EXPECT_EQ(by_erf[i], reference::gelu_erf(x[i])) << v;
    EXPECT_EQ(by_tanh[i], reference::gelu(x[i])) << v;
  }
}

TEST(SwiGlu, SameBitsEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats gate = row(n, 11, 5.0f), up = row(n, 12);
    Floats out(gate.size(), NAN), in_place = gate;
    kernels.swiglu(gate.data(), up.data(), n, out.data());
    kernels.swiglu(in_place.data(), up.data(), n, in_place.data());
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, in_place.begin()));
    in_place = up;
    kernels.swiglu(gate.data(), in_place.data(), n, in_place.data());
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, in_place.begin()));
    return in_place;
  });
}

TEST(SwiGlu, IsCloseToDoubleFromEndToEnd) {
  for (double g = -120.0; g < 120.0; g += 0.037) {
    const float gate = static_cast<float>(g), up = 1.5f;
    float out;
    best_kernels().swiglu(&gate, &up, 1, &out);
    const double exact = gate / (1.0 + std::exp(-double{gate})) * up;
    // exp2's argument is rounded to f32: its error grows with |gate|.
    EXPECT_NEAR(out, exact, (1e-6 + 1e-7 * std::fabs(g)) * std::fabs(exact) + 1e-35) << g;
  }
  const float extremes[] = {-1e30f, 1e30f, 0.0f, -0.0f}, one[] = {1.0f, 1.0f, 1.0f, 1.0f};
  float out[4];
  best_kernels().swiglu(extremes, one, 4, out);
  EXPECT_NEAR(out[0], 0.0f, 1e-6);
  EXPECT_EQ(out[1], 1e30f);
  EXPECT_EQ(out[2], 0.0f);
  EXPECT_EQ(out[3], 0.0f);
}

TEST(ClampedSwiGlu, IsTheFormulaEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats gate = row(n, 22, 9.0f), up = row(n, 23, 9.0f);
    Floats out(gate.size(), NAN), in_place = gate;
    kernels.clamped_swiglu(gate.data(), up.data(), 1.702f, 7.0f, n, out.data());
    kernels.clamped_swiglu(in_place.data(), up.data(), 1.702f, 7.0f, n, in_place.data());
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, in_place.begin()));
    for (int i = 0; i < n; ++i)
      EXPECT_EQ(out[i], reference::clamped_swiglu(gate[i], up[i], 1.702f, 7.0f));
    return out;
  });
}

TEST(ClampedSwiGlu, IsCloseToDouble) {
  for (double g = -20.0; g < 20.0; g += 0.37)
    for (const float up : {-9.0f, -7.0f, -0.5f, 3.0f, 8.0f}) {
      const float gate = static_cast<float>(g);
      float out;
      best_kernels().clamped_swiglu(&gate, &up, 1.702f, 7.0f, 1, &out);
      const double x = std::min<double>(gate, 7.0), u = std::clamp<double>(up, -7.0, 7.0);
      const double exact = (u + 1.0) * x / (1.0 + std::exp(-double{1.702f} * x));
      EXPECT_NEAR(out, exact, 5e-6 * std::fabs(exact) + 1e-12) << g << " " << up;
    }
}

TEST(Softmax, IsTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    Floats x = row(n, 24, 5.0f);
    const Floats expected = reference::softmax({x.begin(), x.begin() + n});
    kernels.softmax(x.data(), n);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), x.begin()));
    return x;
  });
}

TEST(Softmax, IsCloseToDoubleWhereverItsValuesLie) {
  for (const float shift : {-1000.0f, 0.0f, 1000.0f}) {
    const int n = 37;
    Floats x = row(n, 25, 4.0f);
    for (float& value : x) value += shift;
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += std::exp(double(x[i]) - shift);
    const Floats before = x;
    best_kernels().softmax(x.data(), n);
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(x[i], std::exp(double(before[i]) - shift) / sum, 1e-6) << shift << " " << i;
  }
}

TEST(Gate, IsTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats before = row(n, 16), gate = row(n, 17, 20.0f);
    Floats x = before;
    kernels.gate(x.data(), gate.data(), n);
    for (int i = 0; i < n; ++i) EXPECT_EQ(x[i], before[i] * reference::sigmoid(gate[i]));
    return x;
  });
}

TEST(Sigmoids, AreTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 18, 40.0f);
    Floats out(x.size(), NAN);
    kernels.sigmoids(x.data(), n, out.data());
    for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], reference::sigmoid(x[i]));
    return out;
  });
}

TEST(Decay, IsTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 19, 30.0f), bias = row(n, 20), rate = row(n, 21, 3.0f);
    Floats step(x.size(), NAN), alpha(x.size(), NAN);
    kernels.decay(x.data(), bias.data(), rate.data(), n, step.data(), alpha.data());
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(step[i], reference::softplus(x[i] + bias[i]));
      EXPECT_EQ(alpha[i], reference::decay(rate[i], step[i]));
    }
    EXPECT_TRUE(std::isnan(step[n]));
    return alpha;
  });
}

TEST(Decay, HasSoftplusCloseToDoubleFromEndToEnd) {
  for (double x = -80.0; x < 120.0; x += 0.037) {
    const float at = static_cast<float>(x), bias = 0.0f, rate = -0.01f;
    float step, alpha;
    best_kernels().decay(&at, &bias, &rate, 1, &step, &alpha);
    const double exact = std::log1p(std::exp(-std::fabs(double{at}))) + std::max(double{at}, 0.0);
    EXPECT_NEAR(step, exact, (1e-6 + 1e-7 * std::fabs(x)) * exact) << x;
    EXPECT_NEAR(alpha, std::exp(-0.01 * exact), 1e-6) << x;
  }
  const float extremes[] = {-1e30f, 1e30f, 0.0f, -0.0f}, zero[4] = {}, rate[] = {-1, -1, -1, -1};
  float step[4], alpha[4];
  best_kernels().decay(extremes, zero, rate, 4, step, alpha);
  EXPECT_EQ(step[0], 0.0f);
  EXPECT_EQ(alpha[0], 1.0f);
  EXPECT_EQ(step[1], 1e30f);
  EXPECT_EQ(alpha[1], 0.0f);
  EXPECT_EQ(step[2], step[3]);
  EXPECT_NEAR(step[2], std::log(2.0), 1e-7);
}

TEST(Dot, IsTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 22), y = row(n, 23);
    Floats out(1 + kGuard, NAN);
    out[0] = kernels.dot(x.data(), y.data(), n);
    EXPECT_EQ(out[0], reference::dot16(x.data(), y.data(), n));
    return out;
  });
}

TEST(L2Norm, IsTheFormulaEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    Floats x = row(n, 24, 1e-3f), plain = x;
    kernels.l2_norm(x.data(), 1e-6f, 0.3f, n);
    reference::l2_norm(plain.data(), 0.3f, n);
    EXPECT_TRUE(same_bits(x, plain));
    return x;
  });
}

TEST(Multiply, SameBitsEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats before = row(n, 25), y = row(n, 26);
    Floats x = before;
    kernels.multiply(x.data(), y.data(), n);
    for (int i = 0; i < n; ++i) EXPECT_EQ(x[i], before[i] * y[i]);
    return x;
  });
}

TEST(Add, SameBitsEverywhere) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats before = row(n, 13), y = row(n, 14);
    Floats x = before;
    kernels.add(x.data(), y.data(), n);
    for (int i = 0; i < n; ++i) EXPECT_EQ(x[i], before[i] + y[i]);
    return x;
  });
}

TEST(Scale, SameBitsEverywhereAndInPlace) {
  expect_same_everywhere([](const Kernels& kernels, int n) {
    const Floats x = row(n, 15);
    Floats out(x.size(), NAN), in_place = x;
    kernels.scale(x.data(), 0.37f, n, out.data());
    kernels.scale(in_place.data(), 0.37f, n, in_place.data());
    for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], x[i] * 0.37f);
    EXPECT_TRUE(std::equal(out.begin(), out.begin() + n, in_place.begin()));
    return in_place;
  });
}

}  // namespace
}  // namespace pando::kernel
