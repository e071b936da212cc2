// Extreme values, which must not change rows that do not see them; and the largest ones.
#include "kernel/attention_step.h"

namespace pando::kernel {
namespace {

// A position outside of a row's window cannot change the row, whatever it holds.
TEST(Attention, InfinityBeforeTheWindowHarmsNobody) {
  for (const DType type : kTypes)
    for (const int page_len : {4, 32}) {
      Step step(tiny(type, 1, 32, page_len, 32, 64), 1, 20, 3);
      step.set_window(10);
      std::vector<PageId> pages;
      step.extend(pages, 0, 60, 30);
      step.make_queries();
      const std::vector<float> expected = step.reference();
      step.overwrite(pages[38 / page_len], 38 % page_len, std::numeric_limits<float>::quiet_NaN());
      for (const Kernels* kernels : all_kernels()) {
        ThreadPool pool(1);
        const std::vector<float> out = step.run(*kernels, pool, Grouping::kMaximal);
        for (int row = 0; row < 30; ++row)  // positions 30..59; 38..47 see it
          EXPECT_EQ(std::memcmp(&out[row * 32], &expected[row * 32], 32 * sizeof(float)) == 0,
                    row < 8 || row > 17)
              << row;
      }
    }
}

TEST(Attention, InfinityThatIsNotVisibleHarmsNobody) {
  for (const DType type : kTypes)
    for (const int page_len : {4, 32}) {
      Step step(tiny(type, 1, 32, page_len, 32, 64), 1, 20, 3);
      std::vector<PageId> pages;
      step.extend(pages, 0, 60, 30);
      step.make_queries();
      const std::vector<float> expected = step.reference();
      step.overwrite(pages[45 / page_len], 45 % page_len, std::numeric_limits<float>::infinity());
      for (const Kernels* kernels : all_kernels()) {
        ThreadPool pool(1);
        const std::vector<float> out = step.run(*kernels, pool, Grouping::kMaximal);
        EXPECT_EQ(std::memcmp(out.data(), expected.data(), 15 * 32 * sizeof(float)), 0);
        EXPECT_FALSE(std::isfinite(out[15 * 32]));  // position 45 does see it
      }
    }
}

// Equal weights are all the largest share: no sum of products saturates on the way.
TEST(Attention, IntegersAtTheirLimits) {
  for (const int key : {-127, 127})
    for (const int value : {-127, 127}) {
      Step step(tiny(DType::kI8, 1, 128, 32, 64, 128), 2, 20, 12);
      std::vector<PageId> pages;
      step.extend(pages, 0, 200, 7);
      step.make_all(key, value);
      expect_exact(step);
    }
}

TEST(Attention, LargeScoresStayFinite) {
  Step step(tiny(DType::kF32, 1, 16), 1, 40, 11);
  std::vector<PageId> pages;
  step.extend(pages, 0, 50, 20);
  step.overwrite(pages[2], 1, 1e4f);
  step.overwrite(pages[9], 3, -1e4f);
  expect_exact(step);
}

}  // namespace
}  // namespace pando::kernel
