#include "exec/ranks/division.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "comm/thread_comm.h"
#include "contract/ranks.h"
#include "exec/cpu/cpu_device.h"
#include "model/make_model.h"
#include "model/opened_model.h"
#include "model/test_files.h"

namespace pando::exec {
namespace {

model::ModelSpec eight_layers() {
  model::ModelConfig config = model::named_shape("tiny-llama").value();
  config.layers.resize(8);
  config.vocab = 1000;
  return config;
}

constexpr double kLogitBytes = 4.0 * kTypicalLogits * 1000;

TEST(BestDivision, DividesTheHeadIfItsLogitsTravelFaster) {
  const model::ModelSpec spec = eight_layers();
  const PartCosts costs{.layers = std::vector<double>(8, 1.0), .head = 4};
  const RankLayout layout{.tp = 2};  // half of the logits travel, and half of the head is saved
  EXPECT_TRUE(best_division(spec, costs, layout, kLogitBytes / 3.9).divides_head);
  EXPECT_FALSE(best_division(spec, costs, layout, kLogitBytes / 4.1).divides_head);
  EXPECT_EQ(best_division(spec, costs, layout, kLogitBytes).seconds, 8.0 / 2 + 4.0 / 2 + 0.5);
  EXPECT_EQ(best_division(spec, costs, layout, 1).cut, (std::vector<int>{0, 8}));
}

TEST(BestDivision, LeavesFewLayersBesideTheHead) {
  const model::ModelSpec spec = eight_layers();
  const PartCosts costs{.layers = std::vector<double>(8, 1.0), .head = 4};
  RankLayout layout{.spp = 2};
  const Division whole = best_division(spec, costs, layout, 1e9);
  EXPECT_FALSE(whole.divides_head) << "no faster";
  EXPECT_EQ(whole.cut, (std::vector<int>{0, 2, 8}));
  EXPECT_EQ(whole.seconds, 6);
  layout.divides_head = true;
  EXPECT_EQ(best_division(spec, costs, layout, 1e9).cut, (std::vector<int>{0, 6, 8}));
  layout.cut = {0, 4, 8};
  EXPECT_EQ(best_division(spec, costs, layout, 1e9).cut, layout.cut);
}

// Models with layers of one kind and of several, with states, windows, latents and experts.
TEST(MeasuredParts, AreThoseOfTheModel) {
  const TemporaryFolder folder;
  ThreadPool pool(1);
  for (const char* shape : {"tiny-llama", "tiny-qwen3-moe", "tiny-qwen3.5", "tiny-deepseek-v2",
                            "tiny-nemotron-h", "tiny-gemma2"}) {
    const std::filesystem::path path = folder.path() / shape;
    ASSERT_TRUE(model::make_model({.shape = shape, .out = path}).ok()) << shape;
    const auto opened = model::OpenedModel::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    const model::ModelSpec& spec = opened->config;
    const Result<PartCosts> costs = measure_parts(cpu_device(), spec, *opened, {}, pool);
    ASSERT_TRUE(costs.ok()) << shape << ": " << costs.error().message();
    ASSERT_EQ(costs->layers.size(), spec.layers.size());
    EXPECT_GT(costs->head, 0);
    for (int layer = 0; layer < spec.n_layers(); ++layer) {
      EXPECT_GT(costs->layers[layer], 0);
      for (int other = 0; other < layer; ++other)
        if (spec.layers[other] == spec.layers[layer]) {
          EXPECT_EQ(costs->layers[other], costs->layers[layer]) << shape;
        }
    }
  }
}

TEST(MeasuredParts, AreNotThoseOfLayersThatNeedOthers) {
  const TemporaryFolder folder;
  ThreadPool pool(1);
  for (const char* shape : {"tiny-gemma4", "tiny-gemma4-moe"}) {
    const std::filesystem::path path = folder.path() / shape;
    ASSERT_TRUE(model::make_model({.shape = shape, .out = path}).ok()) << shape;
    const auto opened = model::OpenedModel::open(path);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    const auto costs = measure_parts(cpu_device(), opened->config, *opened, {}, pool);
    ASSERT_FALSE(costs.ok()) << shape;
    EXPECT_EQ(costs.error().code, ErrorCode::kUnsupported);
  }
}

TEST(DivideModel, AllRanksHaveTheSameDivision) {
  const TemporaryFolder folder;
  ASSERT_TRUE(model::make_model({.shape = "tiny-llama", .out = folder.path() / "model"}).ok());
  const auto opened = model::OpenedModel::open(folder.path() / "model");
  ASSERT_TRUE(opened.ok()) << opened.error().message();
  for (const RankLayout& layout :
       {RankLayout{.tp = 2}, RankLayout{.spp = 3}, RankLayout{.spp = 2, .kvp = 2, .tp = 2},
        RankLayout{.spp = 2, .divides_head = true}, RankLayout{.spp = 2, .cut = {0, 2, 3}}}) {
    const int n_ranks = layout.n_ranks();
    ThreadComms comms(n_ranks);
    std::vector<RankGroup> groups;
    for (int rank = 0; rank < n_ranks; ++rank) groups.push_back({&comms.of(rank), layout});
    std::vector<std::thread> threads;
    for (int rank = 0; rank < n_ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadPool pool(1);
        divide_model(cpu_device(), opened->config, *opened, {}, pool, groups[rank]);
      });
    for (std::thread& thread : threads) thread.join();
    const RankLayout& first = groups[0].layout;
    ASSERT_EQ(first.cut.size(), static_cast<size_t>(layout.spp) + 1);
    EXPECT_EQ(first.cut.back(), opened->config.n_layers());
    EXPECT_TRUE(layout.cut.empty() || first.cut == layout.cut);
    EXPECT_TRUE(!layout.divides_head || first.divides_head == layout.divides_head);
    for (int rank = 0; rank < n_ranks; ++rank) {
      EXPECT_EQ(groups[rank].layout.cut, first.cut) << rank;
      EXPECT_EQ(groups[rank].layout.divides_head, first.divides_head) << rank;
      EXPECT_FALSE(comms.of(0).has_message(rank)) << rank;
    }
  }
}

}  // namespace
}  // namespace pando::exec
