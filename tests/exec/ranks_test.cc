#include "contract/ranks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "exec/cpu/cpu_device.h"
#include "exec/cpu/kv_memory.h"
#include "exec/cpu/kv_sizes.h"
#include "exec/cpu/state_layout.h"
#include "exec/ranks/rank_executor.h"
#include "exec/share.h"
#include "model/family.h"
#include "model/make_model.h"
#include "model/weight_specs.h"

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
  const RankLayout all = RankLayout::parse("kvp_tokens=4096,tp=2,kvp=3,spp=2").value();
  EXPECT_EQ(all.n_ranks(), 12);
  EXPECT_EQ(all.kvp_tokens, 4096u);
  EXPECT_EQ(all.part_of(9), 1);  // (stage 1, part 1, rank 1)
  EXPECT_EQ(all.share_of(9).stage, 1);
  EXPECT_EQ(all.share_of(9).rank, 1);
  EXPECT_FALSE(all.share_of(2).has_head());  // another part of the first stage
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
  EXPECT_EQ(RankLayout::parse("replicas=4096,spp=64,tp=64")->n_processes(), int64_t{1} << 24);
}

TEST(RankLayout, OtherTextIsRefused) {
  for (const char* text :
       {"", "tp", "pp=2", "tp=0", "tp=-1", "tp=2x", "tp=2,tp=2", "tp=2,", "spp=5000", "tp= 2",
        "replicas=0", "replicas=2,replicas=2", "replica=2"}) {
    const Result<RankLayout> layout = RankLayout::parse(text);
    ASSERT_FALSE(layout.ok()) << text;
    EXPECT_EQ(layout.error().code, ErrorCode::kInvalidArgument) << text;
  }
  EXPECT_EQ(
      RankLayout::parse("tp=2,pp=2").error().message(),
      "parallel has 'pp=2', expected replicas=N, spp=N, kvp=N, tp=N or kvp_tokens=N, separated "
      "by commas");
  EXPECT_EQ(RankLayout::parse("kvp=65").error().message(),
            "parallel has 'kvp=65', expected a whole number from 1 to 64");
  for (const char* tokens : {"kvp_tokens=6144", "kvp_tokens=0", "kvp_tokens=many"})
    EXPECT_EQ(
        RankLayout::parse(fmt::format("kvp=2,{}", tokens)).error().message(),
        fmt::format("parallel has '{}', expected a power of two from 2048 to 1073741824", tokens));
}

TEST(ModelShare, PartsAreNearlyEqualAndLeaveNothingOut) {
  for (const int n : {1, 7, 8, 100})
    for (const int n_parts : {1, 2, 3, 5}) {
      int end = 0;
      for (int part = 0; part < n_parts; ++part) {
        const auto [first, last] = exec::part_of(n, part, n_parts);
        EXPECT_EQ(first, end);
        EXPECT_LE(std::abs((last - first) * n_parts - n), n_parts);
        end = last;
      }
      EXPECT_EQ(end, n);
    }
}

TEST(ModelShare, WhatCannotBeDividedIsRefused) {
  const model::ModelConfig config = model::named_shape("tiny-llama").value();  // 4 heads, 2 of keys
  EXPECT_TRUE(exec::check_share(config, {.n_stages = 3, .n_ranks = 2}).ok());
  EXPECT_FALSE(exec::check_share(config, {.n_stages = 4}).ok());
  EXPECT_TRUE(exec::check_share(config, {.n_ranks = 4}).ok());
  EXPECT_FALSE(exec::check_share(config, {.n_ranks = 8}).ok());
  EXPECT_FALSE(exec::check_share(config, {.n_ranks = 3}).ok());
}

// 4 heads of queries, 2 of keys and values, each of 16 values; ranks 2 and 3 have the second.
TEST(ModelShare, RanksShareAHeadOfKeysAndValues) {
  const model::ModelConfig config = model::named_shape("tiny-llama").value();
  const int q_dim = config.n_heads * config.head_dim, kv_dim = config.kv_dim(), d = config.head_dim;
  for (const int rank : {2, 3}) {
    const ModelShare share{.rank = rank, .n_ranks = 4};
    using Ranges = std::vector<std::pair<int, int>>;
    EXPECT_EQ(exec::rows_of_share(config, 0, model::Role::kQkv, q_dim + 2 * kv_dim, share),
              (Ranges{{rank * d, (rank + 1) * d},
                      {q_dim + d, q_dim + 2 * d},
                      {q_dim + kv_dim + d, q_dim + kv_dim + 2 * d}}));
    EXPECT_EQ(exec::spec_of_share(config, share).n_kv_heads, 1);
    EXPECT_EQ(exec::spec_of_share(config, share).n_heads, 1);
  }
}

TEST(ModelShare, HeadsOfRecurrentLayersDivide) {
  model::ModelConfig delta_net = model::named_shape("tiny-qwen3.5").value();  // 2 key heads
  delta_net.n_kv_heads = delta_net.n_heads = 12;
  EXPECT_TRUE(exec::check_share(delta_net, {.n_ranks = 2}).ok());
  EXPECT_EQ(exec::check_share(delta_net, {.n_ranks = 4}).error().message(),
            "tp is 4, expected a divisor of the 2 key heads of the model's delta-nets");
  model::ModelConfig mamba = model::named_shape("tiny-granite").value();  // 4 heads, 2 groups
  mamba.n_kv_heads = mamba.n_heads = 12;
  EXPECT_TRUE(exec::check_share(mamba, {.n_ranks = 2}).ok());
  EXPECT_TRUE(exec::check_share(mamba, {.n_ranks = 4}).ok());
  EXPECT_EQ(
      exec::check_share(mamba, {.n_ranks = 3}).error().message(),
      "tp is 3, expected a divisor of the 4 Mamba2 heads that is also a divisor or a multiple "
      "of their 2 groups");
}

TEST(ModelShare, LayersStayWithThoseWhoseKeysTheyRead) {
  const model::ModelConfig tiny =
      model::named_shape("tiny-gemma4").value();  // 3 reads 2, 4 reads 1
  using Range = std::pair<int, int>;
  EXPECT_EQ(exec::layers_of_share(tiny, {.stage = 0, .n_stages = 2}), Range(0, 1));
  EXPECT_EQ(exec::layers_of_share(tiny, {.stage = 1, .n_stages = 2}), Range(1, 5));
  EXPECT_EQ(exec::check_share(tiny, {.n_stages = 3}).error().message(),
            "spp is 3, expected at most 2, because a layer is in one stage with the layer whose "
            "keys it reads");
  const model::ModelConfig e2b = model::named_shape("gemma-4-e2b").value();
  EXPECT_EQ(exec::layers_of_share(e2b, {.stage = 1, .n_stages = 2}), Range(13, 35));
  EXPECT_EQ(exec::layers_of_share(e2b, {.stage = 2, .n_stages = 3}), Range(13, 35));
  const model::ModelConfig llama = model::named_shape("llama-2-7b").value();
  for (int stage = 0, end = 0; stage < 5; ++stage) {
    const Range layers = exec::layers_of_share(llama, {.stage = stage, .n_stages = 5});
    EXPECT_EQ(layers.first, end);
    end = layers.second;
    EXPECT_NEAR(layers.second - layers.first, 6.4, 0.61);
  }
}

TEST(ModelShare, SlicesOfLogitsMakeTheVocabulary) {
  model::ModelConfig config = model::named_shape("tiny-llama").value();
  for (const int vocab : {1, 5, 64, 1000, 32000})
    for (const int n_ranks : {1, 2, 3, 8}) {
      config.vocab = vocab;
      int end = 0;
      for (int rank = 0; rank < n_ranks; ++rank) {
        const auto [first, last] =
            exec::logits_of_share(config, {.rank = rank, .n_ranks = n_ranks, .divides_head = true});
        EXPECT_EQ(first, end);
        EXPECT_TRUE(vocab < 16 * n_ranks || first % 16 == 0) << "whole vectors";
        end = last;
      }
      EXPECT_EQ(end, vocab);
    }
}

TEST(ModelShare, TheHeadIsInTheLastStageOrOnRankZero) {
  const model::ModelConfig config = model::named_shape("tiny-llama").value();
  RankLayout layout{.spp = 2, .kvp = 2, .tp = 2};
  for (const bool divided : {false, true}) {
    layout.divides_head = divided;
    for (int rank = 0; rank < layout.n_ranks(); ++rank) {
      const auto [first, last] = exec::logits_of_share(config, layout.share_of(rank));
      const int expected = divided     ? (rank < 4 ? 0 : config.vocab / 2)
                           : rank == 0 ? config.vocab
                                       : 0;
      EXPECT_EQ(last - first, expected) << rank;
    }
  }
}

TEST(ModelShare, HasTheLayersOfTheCut) {
  const model::ModelConfig config = model::named_shape("tiny-llama").value();  // 3 layers
  RankLayout layout{.spp = 2, .tp = 2};
  for (const int middle : {1, 2}) {
    layout.cut = {0, middle, 3};
    EXPECT_EQ(exec::layers_of_share(config, layout.share_of(1)), std::pair(0, middle));
    EXPECT_EQ(exec::layers_of_share(config, layout.share_of(2)), std::pair(middle, 3));
    EXPECT_EQ(exec::spec_of_share(config, layout.share_of(3)).n_layers(), 3 - middle);
  }
}

// Five layers without a feed-forward, then four mixtures.
TEST(ModelShare, StagesHaveEqualProducts) {
  model::ModelConfig config = model::named_shape("tiny-qwen3-moe").value();
  config.layers.assign(9, {.feed_forward = model::FeedForward::kExperts});
  for (int layer = 0; layer < 5; ++layer)
    config.layers[layer].feed_forward = model::FeedForward::kNone;
  config.experts.d_ff = 100 * config.d_model;  // nothing else counts
  EXPECT_EQ(exec::layers_of_share(config, {.stage = 0, .n_stages = 2}), std::pair(0, 7));
  EXPECT_EQ(exec::layers_of_share(config, {.stage = 1, .n_stages = 2}), std::pair(7, 9));
}

TEST(ModelShare, HeadsOfEachLayerDivide) {
  const model::ModelConfig e4b = model::named_shape("gemma-4-e4b").value();
  EXPECT_TRUE(exec::check_share(e4b, {.n_ranks = 2}).ok());
  const model::ModelConfig large = model::named_shape("gemma-4-31b").value();
  EXPECT_TRUE(exec::check_share(large, {.n_ranks = 8}).ok()) << "4 heads of keys, each twice";
  EXPECT_EQ(exec::check_share(large, {.n_ranks = 3}).error().message(),
            "tp is 3, expected a divisor of the model's 32 query heads that is also a divisor or a "
            "multiple of its 16 heads of keys and values");
}

// Each row of a part of a layer goes to one rank, or to several if each needs it.
TEST(ModelShare, RowsOfALayerGoToRanks) {
  for (const std::string_view shape :
       {"tiny-llama", "tiny-olmo2", "tiny-gemma4", "tiny-gemma4-moe", "tiny-qwen3.5",
        "tiny-qwen3-next", "tiny-lfm2", "tiny-granite", "tiny-nemotron-h", "tiny-nemotron-h-moe",
        "tiny-olmo-hybrid"}) {
    const model::ModelConfig config = model::named_shape(shape).value();
    for (int layer = 0; layer < config.n_layers(); ++layer)
      for (const model::WeightSpec& spec : config.family->layer_weights(config, layer)) {
        int n = 0;
        for (const model::WeightSpec& other : config.family->layer_weights(config, layer))
          if (other.role == spec.role)
            n += static_cast<int>(spec.role == model::Role::kConv ? other.n_elements()
                                                                  : other.shape[0]);
        std::vector<int> n_owners(n);
        for (int rank = 0; rank < 2; ++rank)
          for (const auto& [begin, end] :
               exec::rows_of_share(config, layer, spec.role, n, {.rank = rank, .n_ranks = 2}))
            for (int row = begin; row < end; ++row) ++n_owners[row];
        const bool is_whole = std::ranges::any_of(
            std::array{"norm", ".router.", ".gate.", "layer_scalar", "per_layer_"},
            [&](const char* part) { return spec.name.find(part) != std::string::npos; });
        EXPECT_EQ(n_owners, std::vector<int>(n, is_whole ? 2 : 1)) << shape << " " << spec.name;
      }
  }
}

// Every rank has what makes latents, and the matrices of its own query heads.
TEST(ModelShare, HeadsOfLatentAttentionGoToRanks) {
  using Ranges = std::vector<std::pair<int, int>>;
  const auto rows = [](const char* shape, model::Role part, int n) {
    return exec::rows_of_share(model::named_shape(shape).value(), /*layer=*/0, part, n,
                               {.rank = 1, .n_ranks = 2});
  };
  // 4 heads of 20 channels for queries, latents of 28, 8 channels that rotate.
  EXPECT_EQ(rows("tiny-deepseek-v2", model::Role::kQkv, 116), (Ranges{{40, 80}, {80, 116}}));
  EXPECT_EQ(rows("tiny-deepseek-v2", model::Role::kLatentUp, 128), (Ranges{{64, 128}}));
  // Inner rows of 44 for queries, heads of 32; latents of 36, with 12 channels that rotate.
  EXPECT_EQ(rows("tiny-deepseek-v3", model::Role::kQkv, 92), (Ranges{{0, 44}, {44, 92}}));
  EXPECT_EQ(rows("tiny-deepseek-v3", model::Role::kQUp, 128), (Ranges{{64, 128}}));
  const model::ModelConfig config = model::named_shape("tiny-deepseek-v2").value();
  EXPECT_EQ(exec::check_share(config, {.n_ranks = 3}).error().message(),
            "tp is 3, expected a divisor of the model's 4 query heads");
  EXPECT_EQ(exec::spec_of_share(config, {.n_ranks = 4}).n_heads, 1);
  EXPECT_EQ(exec::spec_of_share(config, {.n_ranks = 4}).n_kv_heads, 1);
}

// Value heads 0 and 2 go with key head 0 in one family, 0 and 1 in the other.
TEST(ModelShare, ValueHeadsGoWithTheirKeyHeads) {
  using Ranges = std::vector<std::pair<int, int>>;
  const auto decays = [](const char* shape, int n) {
    return exec::rows_of_share(model::named_shape(shape).value(), 0, model::Role::kDecay, n,
                               {.rank = 1, .n_ranks = 2});
  };
  EXPECT_EQ(decays("tiny-qwen3.5", 4), (Ranges{{1, 2}, {3, 4}}));
  EXPECT_EQ(decays("tiny-qwen3-next", 6), (Ranges{{3, 6}}));
}

// Ranks that share a group have the same B and C.
TEST(ModelShare, RanksShareAGroup) {
  const model::ModelConfig config = model::named_shape("tiny-granite").value();
  const int values = 128, keys = 48, n_channels = values + 2 * keys;
  const auto channels = [&](int rank) {
    return exec::rows_of_share(config, 0, model::Role::kConvBias, n_channels,
                               {.rank = rank, .n_ranks = 4});
  };
  using Ranges = std::vector<std::pair<int, int>>;
  EXPECT_EQ(channels(2), (Ranges{{64, 96}, {152, 176}, {200, 224}}));
  EXPECT_EQ(channels(3), (Ranges{{96, 128}, {152, 176}, {200, 224}}));
}

// A rank keeps the states of its heads and channels alone.
TEST(ModelShare, StatesAreDivided) {
  for (const char* shape : {"tiny-qwen3.5", "tiny-qwen3-next", "tiny-lfm2", "tiny-granite",
                            "tiny-nemotron-h", "tiny-olmo-hybrid"}) {
    const model::ModelConfig config = model::named_shape(shape).value();
    const size_t whole = StateLayout(config).slot_bytes();
    const size_t half =
        StateLayout(exec::spec_of_share(config, {.rank = 1, .n_ranks = 2})).slot_bytes();
    EXPECT_GE(2 * half, whole) << shape;
    EXPECT_LE(2 * half, whole + 2 * 64 * config.layers.size()) << shape;  // padded to lines
  }
}

TEST(Layout, PositionsOfRecurrentLayersAreNotDivided) {
  const model::ModelConfig config = model::named_shape("tiny-qwen3.5").value();
  EXPECT_EQ(check_layout(cpu_device(), config, {.kvp = 2}, 0).error().message(),
            "kvp is 2, expected 1 for models with recurrent layers, such as qwen3_5_text");
  EXPECT_TRUE(check_layout(cpu_device(), config, {.spp = 2}, 0).ok());
}

// Every rank has as many pages, and none more memory than it may take.
TEST(SizesOnRanks, FitTheSmallestShare) {
  const model::ModelConfig config = model::named_shape("tiny-qwen2").value();  // 3 layers
  const KvOptions options{.memory = size_t{1} << 20, .context = 512};
  const RankLayout layout{.spp = 2, .tp = 2};
  const KvRoom room = kv_room_on_ranks(cpu_device(), config, options, layout).value();
  for (int rank = 0; rank < layout.n_ranks(); ++rank) {
    const KvSizes own =
        KvSizes::of(exec::spec_of_share(config, layout.share_of(rank)), options).value();
    EXPECT_LE(room.n_pages * page_bytes(own.pages), options.memory) << rank;
  }
  EXPECT_GT(room.n_pages, KvSizes::of(config, options)->n_pages);
}

}  // namespace
}  // namespace pando::exec
