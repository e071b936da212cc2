// Activations of gate and up in feed-forwards, dense ones and experts alike.
#include "exec/cpu/layers/activate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernel/isas.h"
#include "reference/reference_math.h"

namespace pando::exec {
namespace {

using model::Activation;

TEST(Activate, IsTheOneOfTheModel) {
  constexpr int kWidth = 23;
  std::vector<float> gate_up;
  for (int i = 0; i < 2 * kWidth; ++i) gate_up.push_back(static_cast<float>(i * 7 % 31) / 5 - 3);
  model::ModelSpec config;
  config.activation_alpha = 1.7f;
  config.activation_limit = 1.5f;
  for (const Activation activation :
       {Activation::kSilu, Activation::kGeluTanh, Activation::kClampedSilu,
        Activation::kSquaredRelu, Activation::kUngatedGelu, Activation::kUngatedGeluTanh}) {
    config.activation = activation;
    std::vector<float> expected;
    for (int i = 0; i < kWidth; ++i) {
      const float gate = gate_up[i], up = gate_up[kWidth + i];
      const float positive = std::max(gate, 0.0f);  // the one input there is then
      expected.push_back(activation == Activation::kSilu          ? reference::silu(gate) * up
                         : activation == Activation::kSquaredRelu ? positive * positive
                         : activation == Activation::kGeluTanh    ? reference::gelu(gate) * up
                         : activation == Activation::kUngatedGelu ? reference::gelu_erf(gate)
                         : activation == Activation::kUngatedGeluTanh
                             ? reference::gelu(gate)
                             : reference::clamped_swiglu(gate, up, 1.7f, 1.5f));
    }
    for (const kernel::Kernels* kernels : kernel::all_kernels()) {
      std::vector<float> found(kWidth);
      activate(*kernels, config, gate_up.data(), kWidth, found.data());
      EXPECT_EQ(found, expected) << kernels->name << static_cast<int>(activation);
    }
  }
}

}  // namespace
}  // namespace pando::exec
