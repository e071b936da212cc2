#include "exec/ranks/division.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/errors.h"
#include "comm/thread_comm.h"
#include "contract/ranks.h"
#include "exec/cpu/cpu_device.h"
#include "model/make_model.h"
#include "model/opened_model.h"
#include "model/test_files.h"

namespace pando::exec {
namespace {

constexpr int kFewTokens = 1000;

model::ModelSpec spec_of(int n_layers) {
  model::ModelConfig config = model::named_shape("tiny-llama").value();
  config.layers.resize(n_layers);
  config.vocab = kFewTokens;
  return config;
}

// Layers of one second, one byte of weights and one of keys.
PartCosts costs_of(int n_layers, PartCost head) {
  return {
      .layers = std::vector<PartCost>(n_layers, {.seconds = 1, .weight_bytes = 1, .key_bytes = 1}),
      .head = head};
}

// The best cut into two stages, where rank 0 has the head.
std::vector<int> cut_of(int n_layers, double seconds_of_head) {
  return best_division(spec_of(n_layers), costs_of(n_layers, {.seconds = seconds_of_head}),
                       {.spp = 2, .divides_head = false}, 1)
      .cut;
}

constexpr double kLogitBytes = 4.0 * kTypicalLogits * kFewTokens;

TEST(BestDivision, DividesTheHeadIfThatIsClearlyFaster) {
  const model::ModelSpec spec = spec_of(8);
  const PartCosts costs = costs_of(8, {.seconds = 4});
  const RankLayout layout{.tp = 2};  // half of the logits travel, and half of the head is saved
  EXPECT_EQ(best_division(spec, costs, layout, kLogitBytes).seconds, 8.0 / 2 + 4.0 / 2 + 0.5);
  EXPECT_TRUE(best_division(spec, costs, layout, kLogitBytes / 3.1).divides_head) << "7.55 of 8 s";
  EXPECT_FALSE(best_division(spec, costs, layout, kLogitBytes / 3.3).divides_head) << "7.65 of 8 s";
  EXPECT_EQ(best_division(spec, costs, layout, 1).cut, (std::vector<int>{0, 8}));
}

TEST(BestDivision, LeavesFewLayersBesideTheHead) {
  const model::ModelSpec spec = spec_of(20);
  const PartCosts costs = costs_of(20, {.seconds = 2});
  RankLayout layout{.spp = 2};
  const Division whole = best_division(spec, costs, layout, 1e9);
  EXPECT_FALSE(whole.divides_head) << "no faster";
  EXPECT_EQ(whole.cut, (std::vector<int>{0, 9, 20}));
  EXPECT_EQ(whole.seconds, 11);
  layout.divides_head = true;
  EXPECT_EQ(best_division(spec, costs, layout, 1e9).cut, (std::vector<int>{0, 11, 20}));
  layout.cut = {0, 5, 20};
  EXPECT_EQ(best_division(spec, costs, layout, 1e9).cut, layout.cut);
}

TEST(BestDivision, NoStageHasManyMoreLayersThanOthers) {
  EXPECT_EQ(cut_of(20, 6), (std::vector<int>{0, 9, 20})) << "at most 11, though 7 were faster";
  EXPECT_EQ(cut_of(8, 4), (std::vector<int>{0, 4, 8})) << "5 are more than 1.1 times 4";
  EXPECT_EQ(cut_of(7, 4), (std::vector<int>{0, 3, 7})) << "no cut is more even";
}

TEST(BestDivision, KeepsEqualProductsUnlessAnotherCutIsClearlyFaster) {
  EXPECT_EQ(cut_of(40, 2), (std::vector<int>{0, 20, 40})) << "21 of 22 s";
  EXPECT_EQ(cut_of(40, 4), (std::vector<int>{0, 18, 40})) << "22 of 24 s";
}

TEST(BestDivision, TheHeadsWeightsAreInTheStageThatHasIt) {
  const model::ModelSpec spec = spec_of(20);
  const PartCosts costs = costs_of(20, {.seconds = 2, .weight_bytes = 20});
  PartCosts slow_first = costs, slow_last = costs;
  slow_first.layers.front().seconds = slow_last.layers.back().seconds = 20;
  const RankLayout whole{.spp = 2, .divides_head = false}, divided{.spp = 2, .divides_head = true};
  EXPECT_EQ(best_division(spec, slow_first, whole, 1e9).cut, (std::vector<int>{0, 6, 20}));
  EXPECT_EQ(best_division(spec, slow_last, divided, 1e9).cut, (std::vector<int>{0, 14, 20}));
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
    EXPECT_GT(costs->head.seconds, 0);
    EXPECT_GT(costs->head.weight_bytes, 0);
    for (int layer = 0; layer < spec.n_layers(); ++layer) {
      EXPECT_GT(costs->layers[layer].seconds, 0);
      EXPECT_GT(costs->layers[layer].weight_bytes, 0);
      EXPECT_EQ(costs->layers[layer].key_bytes > 0,
                spec.layers[layer].mixer == model::Mixer::kAttention);
      for (int other = 0; other < layer; ++other)
        if (spec.layers[other] == spec.layers[layer]) {
          EXPECT_EQ(costs->layers[other].seconds, costs->layers[layer].seconds) << shape;
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
        const Status status =
            divide_model(cpu_device(), opened->config, *opened, {}, pool, groups[rank]);
        EXPECT_TRUE(status.ok());
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

// The tensors of another source, but those of the head.
class Headless final : public model::TensorSource {
 public:
  explicit Headless(const model::TensorSource& whole) : whole_(whole) {}
  std::string file() const override { return whole_.file(); }
  std::vector<model::Role> roles(int layer) const override { return whole_.roles(layer); }
  Result<model::Tensors> tensors(const model::WeightId& id) const override {
    if (id.role == model::Role::kHead) return make_error(ErrorCode::kBadFile, "no head");
    return whole_.tensors(id);
  }

 private:
  const model::TensorSource& whole_;
};

class DividedModel : public ::testing::Test {
 protected:
  DividedModel() {
    if (model::make_model({.shape = "tiny-llama", .out = folder_.path() / "model"}).ok())
      opened_ = std::make_unique<model::OpenedModel>(
          model::OpenedModel::open(folder_.path() / "model").value());
  }
  TemporaryFolder folder_;
  std::unique_ptr<model::OpenedModel> opened_;
};

TEST_F(DividedModel, IsAsBeforeIfATensorIsBroken) {
  ASSERT_NE(opened_, nullptr);
  ThreadComms comms(3);
  RankGroup groups[2] = {{&comms.of(0), {.spp = 3}}, {&comms.of(1), {.spp = 3}}};
  std::thread last([&] {  // answers when the link is measured
    RankGroup group{&comms.of(2), {.spp = 3}};
    ThreadPool pool(1);
    EXPECT_TRUE(divide_model(cpu_device(), opened_->config, *opened_, {}, pool, group).ok());
  });
  ThreadPool pool(1);
  const Headless broken(*opened_);
  const Status status = divide_model(cpu_device(), opened_->config, broken, {}, pool, groups[0]);
  last.join();
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "no head");
  EXPECT_TRUE(divide_model(cpu_device(), opened_->config, broken, {}, pool, groups[1]).ok());
  for (const RankGroup& group : groups) {
    EXPECT_EQ(group.layout.cut, (std::vector<int>{0, 1, 2, 3}));
    EXPECT_FALSE(*group.layout.divides_head);
  }
}

// A rank of the middle stage only waits for the division.
TEST_F(DividedModel, RefusesWhatIsNoDivision) {
  ASSERT_NE(opened_, nullptr);
  ThreadPool pool(1);
  const auto divide = [&](const std::vector<int>& words) {
    ThreadComms comms(3);
    RankGroup group{&comms.of(1), {.spp = 3}};
    send_message(comms.of(0), 1, std::as_bytes(std::span(words)));
    EXPECT_TRUE(divide_model(cpu_device(), opened_->config, *opened_, {}, pool, group).ok());
    return group.layout;
  };
  EXPECT_TRUE(*divide({1, 0, 1, 2, 3}).divides_head);
  for (const std::vector<int>& words : {std::vector<int>{},
                                        {4, 0},
                                        {0, 0, 2, 3},
                                        {2, 0, 1, 2, 3},
                                        {0, 1, 1, 2, 3},
                                        {0, 0, 1, 1, 3},
                                        {0, 0, 1, 2, 4}})
    EXPECT_THROW(divide(words), std::runtime_error) << words.size();
}

}  // namespace
}  // namespace pando::exec
