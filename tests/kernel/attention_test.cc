// Attention over trees, page lengths and spans.
#include "base/aligned_buffer.h"
#include "exec/cpu/kernel/cpu/attend_args.h"
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

TEST(Attention, BlocksInSeveralPartsGiveTheSameBits) {
  uint32_t seed = 40;
  for (const DType type : {DType::kF32, DType::kF16, DType::kI8})
    for (const int window : {0, 30})
      for (const uint32_t spans_each : {1u, 2u, 4u})
        for (const uint32_t n_parts : {1u, 2u, 3u}) {
          Step step(tiny(type, 2, 20), 2, 400, ++seed);
          step.set_window(window);
          step.grow({}, 0, 70, 2);
          step.make_queries();
          for (const int n_threads : {1, 3}) {
            ThreadPool pool(n_threads);
            EXPECT_EQ(first_difference(step.run_parts(best_kernels(), pool, n_parts, spans_each),
                                       step.run(best_kernels(), pool, Grouping::kMaximal)),
                      -1)
                << spans_each << " spans, " << n_parts << " parts, window " << window;
          }
        }
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

// As for latents: the heads of one row are divided among threads.
TEST(Attention, ManyHeadsShareAWideKey) {
  for (const DType type : {DType::kF16, DType::kI8})
    for (const int n_rows : {1, 2}) {
      Step step(tiny(type, 1, 576, 32, 64, 2048), 16, 100, 6);
      std::vector<PageId> path;
      step.extend(path, 0, 300, n_rows);
      expect_exact(step);
    }
}

// Two tiles of 16 bits, widened in registers or once for all queries, as either kind of machine has
// it. Returns [queries] of acc, sum and max.
AlignedBuffer attend_two_tiles(const Kernels& kernels, DType type, bool widen_once,
                               bool has_window) {
  constexpr int kQueries = 40, kPageLen = 32, kTileLen = 64, kDim = 64;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  AlignedBuffer pages(4 * kPageLen * kDim * sizeof(uint16_t));
  for (int i = 0; i < 4 * kPageLen * kDim; ++i) {
    const float x = normal(random);
    pages.as<uint16_t>()[i] = type == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
  }
  std::array<const std::byte*, 4> chunks;  // keys, then values
  for (size_t i = 0; i < chunks.size(); ++i)
    chunks[i] = pages.data() + i * kPageLen * kDim * sizeof(uint16_t);
  AlignedBuffer q(kQueries * kDim * sizeof(float)), scores(kQueries * kTileLen * sizeof(float)),
      factor(kQueries * sizeof(float)), widened(kStripChannels * kTileLen * sizeof(float)),
      states(kQueries * (kDim + 17) * sizeof(float));
  for (int i = 0; i < kQueries * kDim; ++i) q.as<float>()[i] = normal(random) / 4;
  std::array<int32_t, kQueries> visible, from;
  for (int i = 0; i < kQueries; ++i) {
    visible[i] = i % 3 == 0 ? kTileLen : 1 + static_cast<int32_t>(random() % kTileLen);
    from[i] = static_cast<int32_t>(random() % visible[i]);
  }
  for (const bool first : {true, false})
    kernels.attend_tile({.type = type,
                         .head_dim = kDim,
                         .page_len = kPageLen,
                         .tile_len = kTileLen,
                         .n_pages = 2,
                         .keys = chunks.data(),
                         .values = chunks.data() + 2,
                         .n_queries = kQueries,
                         .visible = visible.data(),
                         .from = has_window ? from.data() : nullptr,
                         .first = first,
                         .q = q.as<float>(),
                         .max = states.as<float>() + kQueries * (kDim + 16),
                         .sum = states.as<float>() + kQueries * kDim,
                         .acc = states.as<float>(),
                         .scores = scores.as<float>(),
                         .factor = factor.as<float>(),
                         .widen_once = widen_once,
                         .widened = widened.as<float>()});
  return states;
}

TEST(Attention, WideningOnceChangesNoBit) {
  for (const Kernels* kernels : all_kernels())
    for (const DType type : {DType::kF16, DType::kBF16})
      for (const bool has_window : {false, true}) {
        const AlignedBuffer each = attend_two_tiles(*kernels, type, false, has_window),
                            once = attend_two_tiles(*kernels, type, true, has_window);
        EXPECT_EQ(std::memcmp(each.data(), once.data(), each.size()), 0)
            << kernels->name << " " << dtype_name(type) << " " << has_window;
      }
}

}  // namespace
}  // namespace pando::kernel
