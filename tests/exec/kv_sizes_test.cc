// Pages with layers that differ, and the memory of windows and of layers that see all.
#include "exec/cpu/kv_sizes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exec/cpu/kernel/kv_write.h"
#include "exec/cpu/kv_memory.h"
#include "model/make_model.h"

namespace pando::exec {
namespace {

constexpr int kLong = 32768;

// Bytes of f16 keys and values for a path of n positions: of windows, and of layers that see all.
double needed(const model::ModelConfig& config, int n) {
  double sum = 0;
  for (int i = 0; i < config.n_layers(); ++i) {
    const model::LayerConfig& layer = config.layers[i];
    if (layer.keys_back > 0) continue;
    sum +=
        2.0 * 2.0 * config.heads(i).kv_dim() * (layer.window > 0 ? std::min(layer.window, n) : n);
  }
  return sum;
}

// The memory that is given is divided so that the path fits.
TEST(KvSizes, ALongPathFitsInLittleMoreThanItNeeds) {
  for (const char* shape : {"gemma-2-2b", "gemma-3-4b", "gemma-4-e2b", "gemma-4-e4b", "gemma-4-31b",
                            "gemma-4-26b-a4b"}) {
    const model::ModelConfig config = model::named_shape(shape).value();
    const double least = needed(config, kLong);
    const KvOptions options{
        .memory = static_cast<size_t>(1.1 * least), .context = kLong, .window_pages = true};
    const KvSizes sizes = KvSizes::of(config, options).value();
    EXPECT_GE(sizes.kv_capacity, size_t{kLong}) << shape;
    EXPECT_GE(sizes.n_window_pages, least_window_pages(options, sizes.window)) << shape;
    const double taken =
        static_cast<double>(kLong / options.page_len * page_bytes(sizes.pages) +
                            least_window_pages(options, sizes.window) * page_bytes(sizes.windows));
    EXPECT_LT(taken, 1.1 * least) << shape;
    RecordProperty(shape, static_cast<int>(taken / (1 << 20)));
  }
}

// A path of 8,192 positions needs window pages for two windows and for the rows of a step.
TEST(KvSizes, MemoryIsDividedByWhatPathsUse) {
  const model::ModelConfig config = model::named_shape("gemma-3-4b").value();
  const KvOptions options{.memory = size_t{16} << 30, .context = 131072, .window_pages = true};
  const KvSizes sizes = KvSizes::of(config, options).value();
  EXPECT_NEAR(static_cast<double>(sizes.n_window_pages) / static_cast<double>(sizes.n_pages),
              (2 * 1024 + 1024) / 8192.0, 0.01);
}

TEST(KvSizes, LayersOfLikeHeadsAreAGroup) {
  const model::ModelConfig config = model::named_shape("tiny-gemma4").value();
  for (const bool window_pages : {false, true}) {
    const KvSizes sizes =
        KvSizes::shapes_of(config, {.context = 100, .page_len = 8, .window_pages = window_pages});
    const std::vector<KvPlace> places = kv_places(config, window_pages, 100);
    ASSERT_EQ(sizes.pages.size(), window_pages ? 1u : 2u);
    const kernel::KvShape& sliding = window_pages ? sizes.windows.at(0) : sizes.pages[0];
    EXPECT_EQ(sliding.n_layers, 2);
    EXPECT_EQ(sliding.n_kv_heads, 2);
    EXPECT_EQ(sliding.head_dim, 16);
    const kernel::KvShape& global = sizes.pages.back();
    EXPECT_EQ(global.n_layers, 1);
    EXPECT_EQ(global.n_kv_heads, 4);
    EXPECT_EQ(global.head_dim, 32);
    EXPECT_EQ(places[0].layer, 0);
    EXPECT_EQ(places[2].layer, 1);
    for (const auto& [reader, read] : {std::pair{3, 2}, {4, 1}}) {
      EXPECT_EQ(places[reader].in_windows, places[read].in_windows);
      EXPECT_EQ(places[reader].group, places[read].group);
      EXPECT_EQ(places[reader].layer, places[read].layer);
    }
  }
}

// Each group's part of a page is its own, and a copy of a page copies all of them.
TEST(KvSizes, GroupsOfAPageLieApart) {
  const model::ModelConfig config = model::named_shape("tiny-gemma4").value();
  for (const DType type : {DType::kF32, DType::kF16, DType::kI8}) {
    const KvSizes sizes = KvSizes::shapes_of(config, {.type = type, .context = 100, .page_len = 8});
    const KvMemory memory(sizes.pages, 3);
    size_t at = 0;
    for (const kernel::KvView& view : memory.views()) {
      EXPECT_EQ(view.page(0) - memory.views()[0].page(0), static_cast<std::ptrdiff_t>(at));
      EXPECT_EQ(view.page(2) - view.page(1), static_cast<std::ptrdiff_t>(page_bytes(sizes.pages)));
      std::fill_n(view.page(1), view.shape.page_bytes(), std::byte{3});
      at += view.shape.page_bytes();
    }
    EXPECT_EQ(at, page_bytes(sizes.pages));
    for (const kernel::KvView& view : memory.views())
      kernel::copy_pages(view, std::vector<PageCopy>{{1, 2, 8}});
    const std::byte* const copy = memory.views()[0].page(2);
    if (type != DType::kI8) {  // int8 has padding
      EXPECT_EQ(std::count(copy, copy + at, std::byte{3}), static_cast<std::ptrdiff_t>(at));
    }
  }
}

}  // namespace
}  // namespace pando::exec
