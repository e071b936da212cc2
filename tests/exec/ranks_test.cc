#include "exec/ranks/ranks.h"

#include <gtest/gtest.h>

#include "exec/ranks/rank_executor.h"
#include "model/make_model.h"

namespace pando::exec {
namespace {

TEST(RankLayout, IsReadFromText) {
  const RankLayout both = RankLayout::parse("spp=2,tp=3").value();
  EXPECT_EQ(both.spp, 2);
  EXPECT_EQ(both.tp, 3);
  EXPECT_EQ(both.n_ranks(), 6);
  EXPECT_EQ(RankLayout::parse("tp=4")->spp, 1);
  EXPECT_EQ(both.share_of(4).stage, 1);
  EXPECT_EQ(both.share_of(4).rank, 1);
  EXPECT_EQ(both.n_processes(), 6);
}

// A replica is divided as without others.
TEST(RankLayout, ReplicasAreReadFromText) {
  const RankLayout alone = RankLayout::parse("replicas=3").value();
  EXPECT_EQ(alone.replicas, 3);
  EXPECT_EQ(alone.n_ranks(), 1);
  EXPECT_EQ(alone.n_processes(), 3);
  EXPECT_TRUE(alone.share_of(0).is_whole());
  const RankLayout divided = RankLayout::parse("tp=3,replicas=5,spp=2").value();
  EXPECT_EQ(divided.n_ranks(), 6);
  EXPECT_EQ(divided.n_processes(), 30);
  EXPECT_EQ(divided.name(), RankLayout::parse("spp=2,tp=3")->name());
  EXPECT_EQ(RankLayout::parse("replicas=4096,spp=4096,tp=4096")->n_processes(), int64_t{1} << 36);
}

TEST(RankLayout, OtherTextIsRefused) {
  for (const char* text :
       {"", "tp", "pp=2", "tp=0", "tp=-1", "tp=2x", "tp=2,tp=2", "tp=2,", "spp=5000", "tp= 2",
        "replicas=0", "replicas=2,replicas=2", "replica=2"}) {
    const Result<RankLayout> layout = RankLayout::parse(text);
    ASSERT_FALSE(layout.ok()) << text;
    EXPECT_EQ(layout.error().code, ErrorCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(RankLayout::parse("tp=2,pp=2").error().message,
            "parallel has 'pp=2', expected replicas=N, spp=N or tp=N, separated by commas");
}

TEST(Share, PartsAreNearlyEqualAndLeaveNothingOut) {
  for (const int n : {1, 7, 8, 100})
    for (const int n_parts : {1, 2, 3, 5}) {
      int end = 0;
      for (int part = 0; part < n_parts; ++part) {
        const auto [first, last] = model::part_of(n, part, n_parts);
        EXPECT_EQ(first, end);
        EXPECT_LE(std::abs((last - first) * n_parts - n), n_parts);
        end = last;
      }
      EXPECT_EQ(end, n);
    }
}

TEST(Share, WhatCannotBeDividedIsRefused) {
  const model::ModelConfig config = model::named_shape("tiny-llama").value();  // 4 heads, 2 of keys
  EXPECT_TRUE(model::check_share(config, {.n_stages = 3, .n_ranks = 2}).ok());
  EXPECT_FALSE(model::check_share(config, {.n_stages = 4}).ok());
  EXPECT_FALSE(model::check_share(config, {.n_ranks = 4}).ok());
  EXPECT_FALSE(model::check_share(config, {.n_ranks = 3}).ok());
  for (const char* shape : {"tiny-qwen3.5", "tiny-olmo2"}) {
    const Status refused =
        model::check_share(model::named_shape(shape).value(), {.n_stages = 2, .n_ranks = 2});
    ASSERT_FALSE(refused.ok()) << shape;
    EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported) << shape;
  }
}

// Every rank has as many pages, and none more memory than it may take.
TEST(SizesOnRanks, FitTheSmallestShare) {
  const model::ModelConfig config = model::named_shape("tiny-qwen2").value();  // 3 layers
  const KvOptions options{.memory = size_t{1} << 20, .context = 512};
  const RankLayout layout{.spp = 2, .tp = 2};
  const KvSizes sizes = sizes_on_ranks(config, options, layout).value();
  for (int rank = 0; rank < layout.n_ranks(); ++rank) {
    const KvSizes own =
        KvSizes::of(model::config_of_share(config, layout.share_of(rank)), options).value();
    EXPECT_LE(sizes.n_pages * own.pages.page_bytes(), options.memory) << rank;
  }
  EXPECT_GT(sizes.n_pages, KvSizes::of(config, options)->n_pages);
}

}  // namespace
}  // namespace pando::exec
