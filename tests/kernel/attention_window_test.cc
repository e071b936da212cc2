// Attention in layers with a window.
#include "kernel/attention_step.h"

namespace pando::kernel {
namespace {

// Windows that begin inside a tile, at its edges, in another tile or span, or see all.
TEST(Attention, Windows) {
  uint32_t seed = 200;
  for (const DType type : kTypes)
    for (const int window : {1, 2, 3, 7, 8, 9, 15, 16, 17, 30, 33, 64, 1000}) {
      Step step(tiny(type, 2, 20), 1 + window % 3, 600, ++seed);
      step.set_window(window);
      step.grow({}, 0, 30, 3);
      expect_exact(step);
    }
  for (const int window : {1, 5, 40, 63, 64, 65, 100, 128, 129, 500})
    for (const int page_len : {1, 16, 32}) {
      Step step(tiny(kTypes[window % 4], 1, 32, page_len, 64, 128), 2, 5000 / page_len, ++seed);
      step.set_window(window);
      step.grow({}, 0, 180, 2);
      expect_exact(step);
    }
}

// While all positions are visible, the bits are those without a window.
TEST(Attention, WideWindowsChangeNoBit) {
  Step step(tiny(DType::kF16, 2, 32), 2, 300, 9);
  step.grow({}, 0, 40, 3);
  step.make_queries();
  ThreadPool pool(2);
  const std::vector<float> all = step.run(best_kernels(), pool, Grouping::kMaximal);
  step.set_window(160);
  EXPECT_EQ(first_difference(step.run(best_kernels(), pool, Grouping::kMaximal), all), -1);
}

TEST(Attention, WindowsOverManySpans) {
  for (int n_spans = 1; n_spans <= 9; ++n_spans)
    for (const int window : {5, 16, 17, 40, 70}) {
      Step step(tiny(DType::kBF16, 1, 20), 1, 200, n_spans);
      step.set_window(window);
      std::vector<PageId> pages;
      step.extend(pages, 0, n_spans * 16 - 3, window == 70 ? n_spans * 16 - 3 : 1);
      expect_exact(step);
    }
}

// Shapes whose products of many rows tile registers take as they lie, with and without a window.
TEST(Attention, Int8OfWholeRegisters) {
  uint32_t seed = 600;
  for (const int head_dim : {64, 128})
    for (const int page_len : {16, 32, 64})
      for (const int window : {0, 20, 90}) {
        Step step(tiny(DType::kI8, 1, head_dim, page_len, 64, 128), 4, 3000 / page_len, ++seed);
        step.set_window(window);
        step.grow({}, 0, 90, 2);
        expect_exact(step);
      }
}

}  // namespace
}  // namespace pando::kernel
