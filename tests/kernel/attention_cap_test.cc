// Attention with soft caps of scores.
#include "kernel/attention_step.h"

namespace pando::kernel {
namespace {

TEST(Attention, SoftCaps) {
  uint32_t seed = 900;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8})
    for (const float cap : {0.5f, 2.0f, 50.0f})
      for (const int window : {0, 7, 40}) {
        Step step(tiny(type, 2, 20), 1 + window % 3, 600, ++seed);
        step.set_cap(cap);
        step.set_window(window);
        step.grow({}, 0, 30, 3);
        expect_exact(step);
      }
  for (const DType type : {DType::kBF16, DType::kI8}) {  // whole registers
    Step step(tiny(type, 1, 64, 32, 64, 128), 4, 200, ++seed);
    step.set_cap(2.0f);
    step.grow({}, 0, 90, 2);
    expect_exact(step);
  }
}

}  // namespace
}  // namespace pando::kernel
