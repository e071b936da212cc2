// Texts whose rows see both ways: no bit depends on company, slices, threads or ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "api/open_loop.h"
#include "comm/thread_comm.h"
#include "contract/ranks.h"
#include "engine/text_cases.h"
#include "exec/loaded_weights.h"
#include "model/encoders.h"
#include "reference/reference_forward.h"

namespace pando::testing {
namespace {

class Texts : public ::testing::TestWithParam<std::string> {};

TEST_P(Texts, HaveTheBitsOfTheReference) {
  TextCase sum;
  for (int i = 0; i < kTextCases; ++i) {
    const TextCase result = run_text_case(GetParam(), static_cast<uint64_t>(i));
    ASSERT_EQ(result.what, "");
    sum.n_texts += result.n_texts;
    sum.n_joined += result.n_joined;
    sum.n_cancelled += result.n_cancelled;
    sum.on_ranks |= result.on_ranks;
  }
  EXPECT_GT(sum.n_texts, kTextCases);
  EXPECT_GT(sum.n_joined, 0);
  EXPECT_GT(sum.n_cancelled, 0);
  EXPECT_TRUE(sum.on_ranks);
}

INSTANTIATE_TEST_SUITE_P(Families, Texts, ::testing::ValuesIn(encoder_names()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// An engine over the tiny BERT, driven step by step.
class TextLoop {
 public:
  explicit TextLoop(int step_rows) : pool_(1) {
    auto model = load_model(encoder_folder("bert"), std::nullopt, pool_);
    if (!model) throw std::runtime_error(model.error().message());
    model_.emplace(std::move(*model));
    LoopOptions options;
    options.engine.threads = 1;
    options.engine.kv_memory = size_t{64} << 20;
    options.engine.step_rows = step_rows;
    options.page_len = 4;
    options.tile_len = 8;
    auto loop = open_loop(*model_->weights, options, nullptr, nullptr, nullptr);
    if (!loop) throw std::runtime_error(loop.error().message());
    loop_ = std::move(*loop);
  }

  EngineLoop* operator->() { return loop_.get(); }
  Status submit(RequestId id, Request request) {
    return loop_->submit(id, std::move(request), [this, id](const Event& event) {
      EXPECT_TRUE(event.completion) << id;
      done.push_back(id);
    });
  }
  void step() {
    loop_->step();
    loop_->deliver_events();
  }

  std::vector<RequestId> done;  // in the order in which they ended

 private:
  ThreadPool pool_;
  std::optional<LoadedModel> model_;
  std::unique_ptr<EngineLoop> loop_;
};

Request text_of(int n_tokens, Token first = 5) {
  Request request;
  for (int i = 0; i < n_tokens; ++i) request.tokens.push_back((first + 7 * i) % 61);
  request.pooling = Pooling::kMean;
  return request;
}

// 90 rows, four passes each, of which a step takes eight rows through all.
TEST(TextSteps, ALongTextHoldsUpNoShortOne) {
  TextLoop loop(8);
  ASSERT_TRUE(loop.submit(1, text_of(90)).ok());
  loop.step();
  ASSERT_TRUE(loop.submit(2, text_of(3)).ok());
  ASSERT_TRUE(loop.submit(3, text_of(4, 9)).ok());
  loop.step();
  EXPECT_EQ(loop.done, std::vector<RequestId>{2});
  loop.step();
  EXPECT_EQ(loop.done, (std::vector<RequestId>{2, 3}));
  while (loop->n_sequences() > 0) loop.step();
  EXPECT_EQ(loop.done.back(), 1u);
  EXPECT_EQ(loop->stats().prompt_tokens, 97u);
  EXPECT_EQ(loop->stats().prefill_rows, 97u);
}

TEST(TextSteps, EqualTextsAreOne) {
  TextLoop loop(64);
  for (RequestId id = 1; id <= 3; ++id) ASSERT_TRUE(loop.submit(id, text_of(10)).ok());
  Request other_key = text_of(10);
  other_key.isolation_key = 7;
  ASSERT_TRUE(loop.submit(4, other_key).ok());
  loop.step();
  EXPECT_EQ(loop.done.size(), 4u);
  EXPECT_EQ(loop->stats().prefill_rows, 20u);
  EXPECT_EQ(loop->stats().arrived_shared, 20u);
}

TEST(TextSteps, ACancelledTextLeavesNothing) {
  TextLoop loop(8);
  ASSERT_TRUE(loop.submit(1, text_of(50)).ok());
  ASSERT_TRUE(loop.submit(2, text_of(50)).ok());
  loop.step();
  EXPECT_EQ(loop->stats().running_answers, 2u);
  loop->cancel(1);
  EXPECT_EQ(loop->n_sequences(), 1u);
  loop->cancel(2);
  EXPECT_EQ(loop->n_sequences(), 0u);
  EXPECT_EQ(loop->stats().kv_bytes, 0u);
  EXPECT_TRUE(loop.done.empty());
}

// One of two stages is at work while the other's step is over.
TEST(TextSteps, ATextGivenUpInFlightIsOpenUntilItsStepsAreOver) {
  const RankLayout layout{.spp = 2};
  ThreadPool pool(1);
  std::vector<LoadedModel> models;
  for (int rank = 0; rank < 2; ++rank)
    models.push_back(
        load_model(encoder_folder("bert"), std::nullopt, pool, layout.share_of(rank)).value());
  ThreadComms comms(2);
  std::thread other([&] { serve_rank(*models[1].weights, 1, {&comms.of(1), layout}); });
  {
    const RankGroup ranks{&comms.of(0), layout};
    LoopOptions options;
    options.engine.threads = 1;
    options.engine.kv_memory = size_t{64} << 20;
    options.engine.step_rows = 8;
    options.ranks = &ranks;
    const auto loop = open_loop(*models[0].weights, options, nullptr, nullptr, nullptr).value();
    EXPECT_TRUE(loop->submit(1, text_of(90), [](const Event&) {}).ok());
    loop->step();
    loop->cancel(1);
    EXPECT_EQ(loop->n_sequences(), 1u);
    EXPECT_TRUE(loop->step());
    EXPECT_EQ(loop->n_sequences(), 0u);
    EXPECT_EQ(loop->stats().open_tokens, 0u);
    EXPECT_EQ(loop->stats().kv_bytes, 0u);
  }
  dismiss_ranks(comms.of(0));
  other.join();
}

// Models that see what is before a row alone: hidden states of all rows, and of the first.
TEST(TextRequests, RowsOfACausalModel) {
  ThreadPool pool(1);
  const std::filesystem::path folder =
      std::filesystem::path(PANDO_SOURCE_DIR) / "tests/model/data/qwen3-tied";
  const auto model = load_model(folder, std::nullopt, pool);
  ASSERT_TRUE(model) << model.error().message();
  LoopOptions options;
  options.engine.threads = 1;
  options.engine.kv_memory = size_t{64} << 20;
  options.engine.kv_type = KvType::kF32;
  auto loop = open_loop(*model->weights, options, nullptr, nullptr, nullptr);
  ASSERT_TRUE(loop) << loop.error().message();
  const auto embed = [&](Pooling pooling) {
    Request request = text_of(9);
    request.pooling = pooling;
    std::vector<float> embedding;
    EXPECT_TRUE((*loop)->submit(1, request, [&](const Event& event) {
      if (event.completion) embedding = event.completion->embedding;
    }));
    while ((*loop)->step()) (*loop)->deliver_events();
    return embedding;
  };
  const auto reference = reference::Model::load(model->config, model->files->checkpoint, {});
  ASSERT_TRUE(reference) << reference.error().message();
  const std::vector<float> rows = reference->hidden(text_of(9).tokens);
  EXPECT_EQ(embed(Pooling::kRows), rows);
  EXPECT_EQ(embed(Pooling::kFirst),
            std::vector<float>(rows.begin(), rows.begin() + model->config.d_model));
  EXPECT_EQ(embed(Pooling::kLast),
            std::vector<float>(rows.end() - model->config.d_model, rows.end()));
}

TEST(TextRequests, AreCheckedOnce) {
  TextLoop loop(8);
  Request answer = text_of(5);
  answer.pooling = Pooling::kNone;
  EXPECT_EQ(loop.submit(1, answer).error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(loop.submit(1, text_of(97)).error().code, ErrorCode::kTooLong);
  Request types = text_of(5);
  types.token_types = {0, 0, 1};
  EXPECT_EQ(loop.submit(1, types).error().message(),
            "token_types has 3 types, expected one for each of 5 tokens");
  types.token_types = {0, 0, 1, 1, 2};
  EXPECT_EQ(loop.submit(1, types).error().message(), "token_types has 2, expected types below 2");
  types.token_types.back() = 1;
  EXPECT_TRUE(loop.submit(1, types).ok());
}

}  // namespace
}  // namespace pando::testing
