// Several steps in flight: an executor that only follows plans, and carries them out one by one.
#include "engine/in_flight_cases.h"
#include "engine/rank_threads.h"

namespace pando::testing {
namespace {

TestLoop loop_of_depth(int depth, const LoopOptions& options = tiny_loop_options(),
                       size_t fail_each = 0) {
  return TestLoop(open_over_plans(options, /*n_slots=*/0, fail_each, {}, depth));
}

const RecordingExecutor& executor_of(TestLoop& loop) {
  return dynamic_cast<const RecordingExecutor&>(loop->executor());
}

// Rows of each step, in order of submission.
std::vector<uint32_t> rows_of_steps(TestLoop& loop) {
  std::vector<uint32_t> rows;
  for (const StepPlan& plan : executor_of(loop).plans()) rows.push_back(plan.n_rows());
  return rows;
}

TEST(InFlight, AnswersAreThoseOfOneStepAtATime) {
  size_t n_overlapping = 0, n_with_states = 0, n_with_windows = 0, n_failed = 0;
  uint64_t n_preempted = 0, n_evicted = 0;
  for (uint64_t seed = 0; seed < kInFlightCases; ++seed) {
    const InFlightCase found = run_in_flight(seed);
    ASSERT_EQ(found.what, "") << "seed " << seed;
    n_overlapping += found.n_overlapping;
    n_with_states += found.has_states ? found.n_overlapping : 0;
    n_with_windows += found.has_windows ? found.n_overlapping : 0;
    n_failed += found.n_failed;
    n_preempted += found.n_preempted;
    n_evicted += found.n_evicted;
  }
  EXPECT_GT(n_overlapping, 5'000u);
  EXPECT_GT(n_with_states, 1'000u);
  EXPECT_GT(n_with_windows, 1'000u);
  EXPECT_GT(n_failed, 100u);
  EXPECT_GT(n_preempted, 10u);
  EXPECT_GT(n_evicted, 500u);
}

TEST(InFlight, ChunksOfAPromptFollowOneAnother) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 5;
  TestLoop loop = loop_of_depth(3, options);
  ASSERT_TRUE(loop.submit(1, tiny_request("twenty-two characters.", 2)).ok());
  loop.step();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{5, 5, 5}));
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{5, 5, 5, 5, 2, 1}));
  EXPECT_EQ(executor_of(loop).n_overlapping(), 4u);
}

// While one answer awaits its token, another goes on.
TEST(InFlight, ADecodeWaitsForItsToken) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  TestLoop loop = loop_of_depth(2, options);
  ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 4)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("z prompt", 4)).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 8, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.heard[1].completions.at(0).tokens.size(), 4u);
}

// The first step computes all prompts. Then half of the answers have a part in each.
TEST(InFlight, AnswersDivideAmongSteps) {
  TestLoop loop = loop_of_depth(2);
  for (int id = 1; id <= 4; ++id)
    ASSERT_TRUE(loop.submit(id, tiny_request(std::string(8, static_cast<char>('a' + id)), 4)).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{32, 2, 2, 2, 2, 2, 2}));
  EXPECT_EQ(executor_of(loop).n_overlapping(), 5u);
}

// A step reads all weights, so few answers go together, even if they began in different steps.
TEST(InFlight, FewAnswersGoTogether) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  options.least_answers = 3;
  TestLoop loop = loop_of_depth(2, options);
  for (const char* prompt : {"a prompt", "z prompt"})
    ASSERT_TRUE(loop.submit(prompt[0], tiny_request(prompt, 4)).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 8, 1, 2, 2, 1}));
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
}

// They read one row. In another step it would be computed again.
TEST(InFlight, EqualAnswersGoTogether) {
  TestLoop loop = loop_of_depth(2);
  Request equal = tiny_request("a prompt", 4);
  equal.sampling.n = 3;
  ASSERT_TRUE(loop.submit(1, equal).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 1, 1, 1}));
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
}

TEST(InFlight, TheOptionLimitsTheDepth) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 5;
  options.depth = 1;
  TestLoop loop = loop_of_depth(3, options);
  ASSERT_TRUE(loop.submit(1, tiny_request("twenty-two characters.", 2)).ok());
  loop.run();
  EXPECT_EQ(executor_of(loop).n_overlapping(), 0u);
}

// A step writes the slot that the last step but one wrote. Window pages that the last step in
// flight does not read are free.
TEST(InFlight, StatesAndWindowsNeedNoMoreMemoryThanWithOneStep) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  const WindowSizes windows{.window = 8, .tile_len = 8, .n_pages = 5};
  for (const bool has_states : {false, true}) {
    TestLoop loop(open_over_plans(options, has_states ? 2 : 0, /*fail_each=*/0,
                                  has_states ? WindowSizes{} : windows, /*depth=*/3));
    ASSERT_TRUE(loop.submit(1, tiny_request(std::string(60, 'a'), 2)).ok());
    loop.run();
    EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 8, 8, 8, 8, 8, 8, 4, 1}));
    EXPECT_EQ(executor_of(loop).n_overlapping(), 7u);
    EXPECT_EQ(loop.stats().recomputed_rows, 0u);
    EXPECT_EQ(loop.heard[1].completions.size(), 1u);
  }
}

// Another prompt goes on from a place, or a window, while the step that writes it is in flight.
TEST(InFlight, APathGoesOnFromTheStateOfAStepInFlight) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 20;
  options.engine.place_every = 16;
  const WindowSizes windows{.window = 8, .tile_len = 8, .n_pages = 40};
  for (const bool has_states : {false, true}) {
    TestLoop loop(open_over_plans(options, has_states ? 20 : 0, /*fail_each=*/0,
                                  has_states ? WindowSizes{} : windows, /*depth=*/2));
    const std::string document(16, 'd');
    ASSERT_TRUE(loop.submit(1, tiny_request(document + "four", 2)).ok());
    ASSERT_TRUE(loop.submit(2, tiny_request(document + "more", 2)).ok());
    loop.run();
    EXPECT_EQ(rows_of_steps(loop)[0], 20u);
    EXPECT_EQ(rows_of_steps(loop)[1], 4u);
    EXPECT_GT(executor_of(loop).n_overlapping(), 0u);
    EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  }
}

// Places and windows that failed steps would have written are not there for the requests that go
// on.
TEST(InFlight, StatesAndWindowsOfFailedStepsAreComputedAgain) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  const WindowSizes windows{.window = 8, .tile_len = 8, .n_pages = 40};
  for (const bool has_states : {false, true}) {
    TestLoop loop(open_over_plans(options, has_states ? 20 : 0, /*fail_each=*/3,
                                  has_states ? WindowSizes{} : windows, /*depth=*/2));
    TestLoop alone(open_over_plans(options));
    ASSERT_TRUE(alone.submit(2, tiny_request("z prompt", 2)).ok());
    alone.run();
    ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 3)).ok());
    ASSERT_TRUE(loop.submit(2, tiny_request("z prompt", 2)).ok());
    loop.run();
    ASSERT_TRUE(loop.heard[1].error);
    EXPECT_EQ(loop.heard[1].error->message(), "this step is to fail");
    EXPECT_FALSE(loop.heard[2].error);
    EXPECT_EQ(loop.answers(2), alone.answers(2));
  }
}

// The second step fails with the first, but its request goes on.
TEST(InFlight, AFailedStepFailsThoseAfterIt) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  TestLoop loop = loop_of_depth(2, options, /*fail_each=*/3);
  ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 3)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("z prompt", 2)).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 8, 1, 1, 1})) << "the last one again";
  ASSERT_TRUE(loop.heard[1].error);
  EXPECT_EQ(loop.heard[1].error->message(), "this step is to fail");
  EXPECT_FALSE(loop.heard[2].error);
  EXPECT_EQ(loop.answers(2).size(), 1u);
}

// Rows of a step that was not accepted are not counted, and its request fails alone.
TEST(InFlight, ARefusedStepIsNotCounted) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  TestLoop loop(open_over_plans(options, /*n_slots=*/0, /*fail_each=*/0, {}, /*depth=*/2,
                                /*refused=*/2));
  ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 3)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("z prompt", 2)).ok());
  loop.run();
  EXPECT_EQ(rows_of_steps(loop), (std::vector<uint32_t>{8, 1, 1}));
  EXPECT_EQ(loop.stats().prefill_rows, 8u);
  EXPECT_EQ(loop.stats().decode_rows, 2u);
  EXPECT_FALSE(loop.heard[1].error);
  ASSERT_TRUE(loop.heard[2].error);
  EXPECT_EQ(loop.heard[2].error->message(), "this step is refused");
}

// Its pages are free only then: the executor may still write to them.
TEST(InFlight, ACancelledRequestHoldsItsPagesUntilItsStepIsOver) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  TestLoop loop = loop_of_depth(2, options);
  Request request = tiny_request(std::string(24, 'a'), 3);
  request.cached = false;
  ASSERT_TRUE(loop.submit(1, request).ok());
  loop.step();
  loop.cancel(1);
  EXPECT_EQ(loop.stats().open_answers, 0u);
  EXPECT_GT(loop.stats().kv_bytes, 0u);
  EXPECT_TRUE(loop.step());
  EXPECT_FALSE(loop.step());
  EXPECT_EQ(loop.stats().kv_bytes, 0u);
  EXPECT_EQ(loop.n_pins(), 0u);
}

// Over two stages the first two chunks of a prompt are submitted together.
TEST(InFlight, ModelsWithStatesOrWindowsHaveAStepForEachStage) {
  CaseModels models(CaseWeights::kBF16);
  const RankLayout layout{.spp = 2, .slice_rows = 5};
  for (const CaseModel& model :
       {CaseModel{.shape = "tiny-qwen3.5"}, CaseModel{.shape = "tiny-mistral", .window = 8}}) {
    const RankThreads ranks(models, model, layout);
    HeardInFlight heard[2];
    for (const int depth : {1, 2}) {
      LoopOptions options = tiny_loop_options();
      options.engine.step_rows = 8;
      options.engine.context = 200;
      options.engine.kv_memory = size_t{4} << 20;
      options.ranks = &ranks.first();
      options.depth = depth;
      const auto loop = open_loop(models.share(model, layout.share_of(0)), options).value();
      EXPECT_GT(loop->executor().facts().n_slots + loop->executor().facts().window, 0u);
      Request request = tiny_request("", 5);
      request.logits_hash = true;
      for (int i = 0; i < 30; ++i) request.tokens.push_back(i * 7 % kCaseVocab);
      ASSERT_TRUE(loop->submit(1, std::move(request), listener_of(heard[depth - 1])).ok());
      loop->step();
      EXPECT_EQ(loop->stats().prefill_rows, 8u * depth) << model.shape;
      while (loop->step()) continue;
      loop->deliver_events();
      EXPECT_EQ(heard[depth - 1].completions.size(), 1u);
    }
    EXPECT_EQ(difference(heard[1], heard[0]), "") << model.shape;
  }
}

// Both have steps in flight over the same ranks: outputs come in the order of all steps.
TEST(InFlight, EnginesOverTheSameRanksTakeTurns) {
  CaseModels models(CaseWeights::kBF16);
  const CaseModel model{.shape = "tiny-qwen3"};
  const RankLayout layout{.spp = 2, .slice_rows = 5};
  const RankThreads ranks(models, model, layout);
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  options.engine.context = 200;
  options.ranks = &ranks.first();
  const auto open = [&] {
    return open_loop(models.share(model, layout.share_of(0)), options).value();
  };
  const auto submit = [](EngineLoop& loop, HeardInFlight& heard, int seed) {
    Request request = tiny_request("", 5);
    for (int i = 0; i < 30; ++i) request.tokens.push_back((i * seed) % kCaseVocab);
    ASSERT_TRUE(loop.submit(1, std::move(request), listener_of(heard)).ok());
  };
  HeardInFlight found[2], alone[2];
  {
    const std::unique_ptr<EngineLoop> first = open(), second = open();
    EXPECT_EQ(first->executor().facts().depth, 2);
    submit(*first, found[0], 3);
    submit(*second, found[1], 5);
    while (first->n_sequences() + second->n_sequences() > 0) {
      first->step();
      second->step();
    }
    first->deliver_events();
    second->deliver_events();
  }
  for (int i = 0; i < 2; ++i) {
    const std::unique_ptr<EngineLoop> loop = open();
    submit(*loop, alone[i], i == 0 ? 3 : 5);
    while (loop->step()) continue;
    loop->deliver_events();
    EXPECT_EQ(difference(found[i], alone[i]), "") << i;
    EXPECT_EQ(alone[i].completions.size(), 1u);
  }
  EXPECT_NE(found[0].completions.at(0).logits_hash, found[1].completions.at(0).logits_hash);
}

}  // namespace
}  // namespace pando::testing
