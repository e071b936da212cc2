// Attention over trees, page lengths and spans.
#include "kernel/attention_step.h"

namespace pando::kernel {
namespace {

TEST(Attention, RandomTrees) {
  uint32_t seed = 0;
  for (const DType type : kTypes)
    for (const int head_dim : {4, 20, 32, 36})
      for (const int group : {1, 3}) {
        Step step(tiny(type, 2, head_dim), group, 600, ++seed);
        step.grow({}, 0, 24, 3);
        expect_exact(step);
      }
}

TEST(Attention, RandomTreesOfOtherPageLengths) {
  uint32_t seed = 100;
  for (const DType type : kTypes)
    for (const auto& [page, tile, span] :
         {std::array{1, 4, 4}, std::array{16, 16, 64}, std::array{16, 64, 64},
          std::array{32, 64, 128}, std::array{8, 24, 48}, std::array{48, 48, 96}}) {
      Step step(tiny(type, 1, 16, page, tile, span), 2, 400, ++seed);
      step.grow({}, 0, 60, 2);
      expect_exact(step);
    }
}

TEST(Attention, PageLengthChangesNoBit) {
  for (const DType type : {DType::kF16, DType::kI8}) {
    std::vector<float> first;
    for (const int page_len : {1, 4, 16, 32}) {
      Step step(tiny(type, 2, 32, page_len, 32, 64), 2, 200, 7);
      std::vector<PageId> pages;
      step.extend(pages, 0, 150, 40);
      step.make_queries();
      ThreadPool pool(1);
      const std::vector<float> out = step.run(best_kernels(), pool, Grouping::kMaximal);
      if (first.empty()) first = out;
      EXPECT_EQ(first_difference(out, first), -1) << page_len;
    }
  }
}

TEST(Attention, OneToNineSpans) {
  for (int n_spans = 1; n_spans <= 9; ++n_spans)
    for (const int position : {(n_spans - 1) * 16, n_spans * 16 - 1}) {
      Step step(tiny(DType::kBF16, 1, 20), 1, 80, n_spans);
      std::vector<PageId> pages;
      step.extend(pages, 0, position + 1, 1);
      expect_exact(step);
    }
  Step together(tiny(DType::kF32, 1, 16), 2, 80, 10);
  std::vector<PageId> pages;
  together.extend(pages, 0, 9 * 16 - 3, 9 * 16 - 3);
  expect_exact(together);
}

TEST(Attention, RealSizes) {
  for (const DType type : kTypes)
    for (const int head_dim : {64, 128}) {
      Step step(tiny(type, 1, head_dim, 32, 64, 2048), head_dim == 64 ? 3 : 2, 100, 5);
      std::vector<PageId> document, branch;
      step.extend(document, 0, 2100, 0);
      for (const int n : {1, 7, 1, 40}) {
        branch = document;
        step.extend(branch, 2100, n, std::min(n, 20));
      }
      expect_exact(step);
    }
}

}  // namespace
}  // namespace pando::kernel
