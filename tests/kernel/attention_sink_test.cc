// Attention with sinks: scores of heads that take weight and have no value.
#include "kernel/attention_step.h"

namespace pando::kernel {
namespace {

// Sinks from far below the scores of keys to far above them.
std::vector<float> sinks(int n_heads) {
  constexpr float kSinks[] = {-300.0f, -4.0f, 0.0f, 1.5f, 6.0f, 30.0f};
  std::vector<float> all;
  for (int i = 0; i < n_heads; ++i) all.push_back(kSinks[i % std::size(kSinks)]);
  return all;
}

TEST(Attention, Sinks) {
  uint32_t seed = 1900;
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8})
    for (const int group : {1, 3})
      for (const int window : {0, 7, 40}) {
        Step step(tiny(type, 2, 20), group, 600, ++seed);
        step.set_sinks(sinks(step.n_heads()));
        step.set_window(window);
        step.grow({}, 0, 30, 3);
        expect_exact(step);
      }
  for (const DType type : {DType::kBF16, DType::kI8}) {  // whole registers
    Step step(tiny(type, 1, 64, 32, 64, 128), 4, 200, ++seed);
    step.set_sinks(sinks(step.n_heads()));
    step.grow({}, 0, 90, 2);
    expect_exact(step);
  }
}

// A sink counts once, behind the states of all blocks.
TEST(Attention, SinksOfBlocksInOtherPlaces) {
  ThreadPool pool(2);
  for (const int window : {0, 25}) {
    Step step(tiny(DType::kF16, 2, 20), 2, 600, 1990 + window);
    step.set_sinks(sinks(step.n_heads()));
    step.set_window(window);
    step.grow({}, 0, 40, 3);
    step.make_queries();
    const std::vector<float> expected = step.reference();
    for (const Kernels* kernels : all_kernels())
      for (const uint32_t n_parts : {2u, 3u})
        EXPECT_EQ(first_difference(step.run_parts(*kernels, pool, n_parts, 1), expected), -1)
            << kernels->name << ", parts " << n_parts << ", window " << window;
  }
}

// Far above all scores, it leaves nothing to the values; far below, it changes no bit.
TEST(Attention, SinksFarFromAllScores) {
  ThreadPool pool(1);
  Step step(tiny(DType::kF32, 1, 20), 2, 100, 1995);
  step.grow({}, 0, 20, 1);
  step.make_queries();
  const std::vector<float> without = step.run(best_kernels(), pool, Grouping::kMaximal);
  step.set_sinks({-1000.0f, 1000.0f});
  const std::vector<float> with = step.run(best_kernels(), pool, Grouping::kMaximal);
  for (size_t i = 0; i < with.size(); ++i)
    EXPECT_EQ(with[i], i / 20 % 2 == 0 ? without[i] : 0.0f) << i;
}

}  // namespace
}  // namespace pando::kernel
