// TextRunner over an executor that fails.
#include "engine/text_runner.h"

#include <gtest/gtest.h>

#include <deque>
#include <limits>
#include <map>
#include <stdexcept>
#include <vector>

namespace pando {
namespace {

// Hidden states of a row: its token and its position. Step number `fails` fails, and with it those
// submitted behind it.
class FailingExecutor final : public Executor {
 public:
  FailingExecutor(int depth, int fails)
      : facts_{.vocab = 100,
               .d_model = 2,
               .page_len = 4,
               .tile_len = 8,
               .n_pages = 64,
               .page_bytes = 1,
               .kv_capacity = 256,
               .longest_path = 256,
               .n_passes = 3,
               .depth = depth},
        fails_(fails) {}

  const ExecutorFacts& facts() const override { return facts_; }
  void submit(StepPlan plan) override { submitted_.push_back(std::move(plan)); }
  void finish() override {
    if (n_finished_++ == fails_) {
      submitted_.clear();
      throw std::runtime_error("it failed");
    }
    last_ = std::move(submitted_.front());
    submitted_.pop_front();
  }
  const float* hidden(uint32_t first, uint32_t) override {
    const uint32_t row = last_.outputs[first];
    row_ = {static_cast<float>(last_.tokens[row]), static_cast<float>(last_.positions[row])};
    return row_.data();
  }
  void logits(uint32_t, uint32_t, float*) override { FAIL() << "there are no logits"; }
  bool prepare(size_t, size_t) override { return false; }
  size_t ready_bytes(size_t, size_t) const override { return 0; }
  size_t kv_bytes(size_t n_used) const override { return n_used; }
  PhaseTimes times() const override { return {}; }
  int n_finished() const { return n_finished_; }

 private:
  ExecutorFacts facts_;
  int fails_, n_finished_ = 0;
  std::deque<StepPlan> submitted_;
  StepPlan last_;
  std::vector<float> row_;
};

struct Runner {
  Runner(int depth, int fails, int step_rows,
         double step_seconds = std::numeric_limits<double>::infinity())
      : executor(depth, fails), pages(64) {
    options.step_rows = step_rows;
    runner.emplace(TextRunnerParts{.options = options,
                                   .executor = executor,
                                   .pages = pages,
                                   .outbox = outbox,
                                   .stats = stats,
                                   .depth = static_cast<size_t>(depth),
                                   .joins_equal = true,
                                   .step_seconds = step_seconds});
  }
  void submit(RequestId id, std::vector<Token> tokens) {
    Request request;
    request.tokens = std::move(tokens);
    request.pooling = Pooling::kRows;
    EXPECT_TRUE(runner->submit(id, std::move(request), [this, id](const Event& event) {
      if (event.error) errors[id] = event.error->message();
      if (event.completion) embeddings[id] = event.completion->embedding;
    }));
  }
  void run() {
    while (runner->n_requests() > 0) runner->step();
    outbox.deliver();
  }

  EngineOptions options;
  FailingExecutor executor;
  PagePool pages;
  Outbox outbox;
  EngineStats stats;
  std::optional<TextRunner> runner;
  std::map<RequestId, std::string> errors;
  std::map<RequestId, std::vector<float>> embeddings;
};

// Three passes of three and of two rows; a step takes nine rows through a pass.
TEST(TextRunner, AStepThatFailsEndsItsTexts) {
  Runner run(/*depth=*/1, /*fails=*/0, /*step_rows=*/3);
  run.submit(1, {5, 6, 7});
  run.submit(2, {8, 9});
  run.run();
  EXPECT_EQ(run.errors, (std::map<RequestId, std::string>{{1, "it failed"}}));
  EXPECT_EQ(run.embeddings[2], (std::vector<float>{8, 0, 9, 1}));
  EXPECT_EQ(run.pages.n_used(), 0u);
}

// The steps of the other texts fail with the first; these texts begin again.
TEST(TextRunner, TextsOfLaterStepsBeginAgain) {
  Runner run(/*depth=*/3, /*fails=*/0, /*step_rows=*/2);
  run.submit(1, {5, 6});
  run.submit(2, {7, 8});
  run.submit(3, {9, 4});
  run.run();
  EXPECT_EQ(run.errors, (std::map<RequestId, std::string>{{1, "it failed"}}));
  EXPECT_EQ(run.embeddings[2], (std::vector<float>{7, 0, 8, 1}));
  EXPECT_EQ(run.embeddings[3], (std::vector<float>{9, 0, 4, 1}));
  EXPECT_EQ(run.pages.n_used(), 0u);
}

// Rows that were read before a failure are not read twice.
TEST(TextRunner, ATextThatBeginsAgainForgetsItsRows) {
  Runner run(/*depth=*/2, /*fails=*/3, /*step_rows=*/1);
  run.submit(1, {5, 6});
  run.submit(2, {7});
  run.run();
  for (const auto& [id, embedding] : run.embeddings)
    EXPECT_EQ(embedding, id == 1 ? (std::vector<float>{5, 0, 6, 1}) : (std::vector<float>{7, 0}));
  EXPECT_EQ(run.embeddings.size() + run.errors.size(), 2u);
  EXPECT_EQ(run.pages.n_used(), 0u);
}

TEST(TextRunner, WaitingTextsAreThoseWithoutASubmittedRow) {
  Runner run(/*depth=*/1, /*fails=*/-1, /*step_rows=*/1);
  run.submit(1, {5, 6, 7});
  run.submit(2, {8});
  EXPECT_EQ(run.runner->waiting(), (std::vector<RequestId>{1, 2}));
  run.runner->step();
  EXPECT_TRUE(run.runner->waiting().empty());
  run.run();
  EXPECT_EQ(run.embeddings[1], (std::vector<float>{5, 0, 6, 1, 7, 2}));
}

// 300 elements of three passes: the first step has 100, as no time is known, and later ones the
// minimum of 64.
TEST(TextRunner, StepsThatMayTakeNoTimeAreShort) {
  const std::vector<Token> tokens(100, 7);
  Runner unlimited(/*depth=*/1, /*fails=*/-1, /*step_rows=*/100);
  Runner limited(/*depth=*/1, /*fails=*/-1, /*step_rows=*/100, /*step_seconds=*/1e-12);
  for (Runner* run : {&unlimited, &limited}) {
    run->submit(1, tokens);
    run->run();
  }
  EXPECT_EQ(unlimited.executor.n_finished(), 1);
  EXPECT_EQ(limited.executor.n_finished(), 5);
  EXPECT_EQ(limited.embeddings[1], unlimited.embeddings[1]);
  EXPECT_EQ(limited.embeddings[1].size(), 200u);
}

}  // namespace
}  // namespace pando
