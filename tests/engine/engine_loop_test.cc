// Requests through the loop, one step at a time: who shares what, who ends when.
#include "engine/engine_loop.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

TEST(EngineLoop, NothingToDo) {
  TestLoop loop;
  EXPECT_FALSE(loop.step());
  loop.cancel(7);
  EXPECT_EQ(loop.stats().steps, 0u);
}

TEST(EngineLoop, IsolationKeysShareNothing) {
  for (const char* sharing : {"tree", "prefix_cached"}) {
    LoopOptions options = tiny_loop_options();
    options.engine.sharing = sharing;
    TestLoop loop(options);
    Request request = tiny_request("the same prompt", 1);
    for (const uint64_t key : {1, 2, 1}) {
      request.isolation_key = key;
      ASSERT_TRUE(loop.submit(loop.heard.size() + 1, request).ok());
    }
    loop.run();
    EXPECT_EQ(loop.stats().prefill_rows, 30u);
    EXPECT_EQ(loop.stats().recomputed_rows, 0u);
    EXPECT_EQ(loop.stats().prompt_tokens, 45u);
    EXPECT_EQ(loop.answers(1), loop.answers(2));
    EXPECT_EQ(loop.answers(1), loop.answers(3));
  }
}

TEST(EngineLoop, WhatIsNotToBeCachedGoesWithItsLastRequest) {
  TestLoop loop;
  Request request = tiny_request("Whose is this prompt?", 3);
  request.isolation_key = 7;
  request.cached = false;
  for (const RequestId id : {1, 2}) ASSERT_TRUE(loop.submit(id, request));
  loop.run();
  EXPECT_LT(loop.stats().prefill_rows, 2 * request.prompt.size()) << "open ones share";
  EXPECT_EQ(loop.stats().kv_bytes, 0u);
  EXPECT_EQ(loop.stats().tree_nodes, 0u);
  ASSERT_TRUE(loop.submit(3, request));
  loop->step();
  loop.cancel(3);
  EXPECT_EQ(loop.stats().kv_bytes, 0u);
}

TEST(EngineLoop, PackedSharesNothingAndKeepsNothing) {
  LoopOptions options = tiny_loop_options();
  options.engine.sharing = "packed";
  TestLoop loop(options);
  for (const RequestId id : {1, 2})
    ASSERT_TRUE(loop.submit(id, tiny_request("the same prompt", 4)).ok());
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 30u);
  EXPECT_EQ(loop.stats().decode_rows, 6u);
  EXPECT_EQ(loop->cache().tree().n_nodes(), 0u);
  EXPECT_EQ(loop->cache().pool().n_free(), loop->cache().pool().n_pages());
}

TEST(EngineLoop, SeveralChoicesComputeThePromptOnce) {
  TestLoop loop;
  Request request = tiny_request("a prompt of some length", 5);
  request.sampling.n = 4;
  request.sampling.temperature = 1;
  request.sampling.seed = 9;
  ASSERT_TRUE(loop.submit(1, request).ok());
  EXPECT_EQ(loop->n_sequences(), 4u);
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 23u);
  EXPECT_EQ(loop.stats().prompt_tokens, 92u);
  EXPECT_EQ(loop.stats().requests, 1u);
  const std::vector<Answer> answers = loop.answers(1);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(std::set<Answer>(answers.begin(), answers.end()).size(), 4u);
}

TEST(EngineLoop, ADuplicateCostsOneRecomputedRow) {
  TestLoop loop;
  ASSERT_TRUE(loop.submit(1, tiny_request("asked twice", 1)).ok());
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 11u);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  for (const RequestId id : {2, 3})
    ASSERT_TRUE(loop.submit(id, tiny_request("asked twice", 1)).ok());
  loop.run();  // both in one step: one row for the two
  EXPECT_EQ(loop.stats().prefill_rows, 12u);
  EXPECT_EQ(loop.stats().recomputed_rows, 1u);
  EXPECT_EQ(loop.answers(1), loop.answers(2));
  EXPECT_EQ(loop.answers(1), loop.answers(3));
}

TEST(EngineLoop, RecomputedRowsOfAnswersCountAsDecodes) {
  TestLoop loop;
  for (const RequestId id : {1, 2}) {
    ASSERT_TRUE(loop.submit(id, tiny_request("asked twice", 5)).ok());
    loop.run();
  }
  EXPECT_EQ(loop.answers(1), loop.answers(2));
  EXPECT_EQ(loop.stats().prefill_rows, 12u);
  EXPECT_EQ(loop.stats().decode_rows, 8u);
  EXPECT_EQ(loop.stats().recomputed_rows, 5u);
}

TEST(EngineLoop, MaxRunningIsRespected) {
  LoopOptions options = tiny_loop_options();
  options.engine.max_running = 3;
  TestLoop loop(options);
  for (char c = 'a'; c < 'k'; ++c)
    ASSERT_TRUE(loop.submit(c, tiny_request(std::string(1, c) + " prompt", 2 + c % 4)).ok());
  int most = 0;
  while (loop.step()) {
    EXPECT_LE(loop.n_running(), 3);
    most = std::max(most, loop.n_running());
  }
  EXPECT_EQ(most, 3);
  for (const auto& [id, heard] : loop.heard)
    EXPECT_EQ(loop.answers(id), answers_alone(heard.request));
}

TEST(EngineLoop, PromptsThatCanNeverFitAreRefused) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(5);  // 20 positions
  options.engine.context = 100;
  TestLoop loop(options);
  EXPECT_TRUE(loop.submit(1, tiny_request(std::string(14, 'x'), 6)).ok());
  const Status status = loop.submit(2, tiny_request(std::string(15, 'x'), 6));
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kTooLong);
  EXPECT_EQ(status.error().message(),
            "prompt and answer take up to 21 tokens, but the memory for keys and values has room "
            "for only 20, at " +
                std::to_string(memory_for(1) / 4) + " bytes per token");
  const Status alone = loop.submit(3, tiny_request(std::string(20, 'x'), 1));
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().place.field, "prompt");
  loop.run();
  EXPECT_EQ(loop.answers(1)[0].first.size(), 6u);
}

TEST(EngineLoop, TheContextBoundsTheAnswer) {
  LoopOptions options = tiny_loop_options();
  options.engine.context = 12;
  TestLoop loop(options);
  ASSERT_TRUE(loop.submit(1, tiny_request("ten bytes.", 50)).ok());
  const Status too_long = loop.submit(2, tiny_request("twelve bytes", 1));
  EXPECT_EQ(too_long.error().code, ErrorCode::kTooLong);
  EXPECT_EQ(too_long.error().message(),
            "the prompt has 12 tokens and needs room for an answer; this model's maximum context "
            "length is 12 tokens, as context sets it (its own is 640)");
  loop.run();
  const Completion& completion = loop.heard[1].completions.at(0);
  EXPECT_EQ(completion.tokens.size(), 2u);
  EXPECT_EQ(completion.finish_reason, FinishReason::kContext);
}

TEST(EngineLoop, AListenerMaySubmitAndCancel) {
  TestLoop loop;
  ASSERT_TRUE(loop.submit(2, tiny_request("cancelled by the first", 50)).ok());
  Request first = tiny_request("first", 3);
  first.tokens = bytes_of(first.prompt);
  int n_completed = 0;
  const Listener listener = [&](const Event& event) {
    if (!event.completion) return;
    ++n_completed;
    loop.cancel(2);
    loop.cancel(event.request);  // itself, which is over
    ASSERT_TRUE(loop.submit(3, tiny_request("second", 2)).ok());
  };
  ASSERT_TRUE(loop->submit(1, first, listener).ok());
  loop.run();
  EXPECT_EQ(n_completed, 1);
  EXPECT_TRUE(loop.heard[2].completions.empty());
  EXPECT_EQ(loop.answers(3), answers_alone(loop.heard[3].request));
}

TEST(EngineLoop, FailAllTellsEveryRequestOnce) {
  TestLoop loop;
  Request several = tiny_request("several choices");
  several.sampling.n = 3;
  ASSERT_TRUE(loop.submit(1, several).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("another")).ok());
  loop.step();
  loop->fail_all({ErrorCode::kUnavailable, "over"});
  loop->deliver_events();  // a second error would be heard after the end
  for (const RequestId id : {1, 2}) EXPECT_EQ(loop.heard[id].error->message(), "over");
  EXPECT_EQ(loop->n_sequences(), 0u);
  EXPECT_EQ(loop.n_pins(), 0u);
}

TEST(EngineLoop, AFailingStepEndsItsRequestsOnly) {
  LoopOptions options = tiny_loop_options();
  options.engine.max_running = 3;
  options.engine.threads = 2;
  TestLoop loop(options);
  const std::vector<std::string> prompts = {"shared beginning, a", "shared beginning, b", "other",
                                            "late"};
  const auto submit = [&](RequestId id) {
    ASSERT_TRUE(loop.submit(id, tiny_request(prompts[(id - 1) % 4])).ok());
  };
  loop->observe_logits([&](RequestId id, int, uint32_t position, std::span<const float>) {
    if (id == 2 && position == prompts[1].size() + 2) throw std::runtime_error("a bug");
  });
  for (RequestId id = 1; id <= 4; ++id) submit(id);
  loop.run();
  for (RequestId id = 1; id <= 3; ++id) {
    ASSERT_TRUE(loop.heard[id].error) << id;
    EXPECT_EQ(loop.heard[id].error->code, ErrorCode::kInternal);
    EXPECT_EQ(loop.heard[id].error->message(), "a bug");
  }
  for (RequestId id = 5; id <= 8; ++id)  // the same again, with what was cached
    if (id != 6) submit(id);
  loop.run();
  for (const RequestId id : {4, 5, 7, 8}) {
    EXPECT_FALSE(loop.heard[id].error);
    EXPECT_EQ(loop.answers(id), answers_alone(loop.heard[id].request)) << id;
  }
}

TEST(EngineLoop, CancelAtEveryMoment) {
  for (const char* sharing : {"tree", "packed"})
    for (const size_t n_pages : {1000, 14}) {
      LoopOptions options = tiny_loop_options();
      options.engine.sharing = sharing;
      options.engine.step_rows = 7;
      options.engine.kv_memory = memory_for(n_pages);
      std::map<RequestId, Request> requests = {{1, tiny_request("a shared beginning: one", 5)},
                                               {2, tiny_request("a shared beginning: two", 7)},
                                               {3, tiny_request("a shared", 3)}};
      requests[2].sampling.n = 2;
      requests[2].sampling.temperature = 1;
      std::map<RequestId, std::vector<Answer>> expected;
      for (const auto& [id, request] : requests) expected[id] = answers_alone(request);
      for (RequestId gone = 1; gone <= 3; ++gone)
        for (int when = 0, n_steps = 1; when <= n_steps; ++when) {
          TestLoop loop(options);
          for (const auto& [id, request] : requests) ASSERT_TRUE(loop.submit(id, request).ok());
          for (int i = 0; i < when; ++i) loop.step();
          const bool was_over = loop.heard[gone].closed;
          loop.cancel(gone);
          loop.cancel(gone);
          n_steps = when + loop.run();
          for (RequestId id = 1; id <= 3; ++id) {
            if (id == gone && !was_over) continue;
            ASSERT_EQ(loop.answers(id), expected[id]) << id;
          }
        }
    }
}

// Tokens that two prompts share belong to neither.
TEST(EngineLoop, RequestsWaitUntilSomethingOfTheirOwnIsComputed) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 8;
  options.engine.max_running = 2;
  TestLoop loop(options);
  const std::string shared = "sixteen tokens, ";
  ASSERT_TRUE(loop.submit(1, tiny_request(shared + "one", 3)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request(shared + "two", 3)).ok());
  Request twice = tiny_request(shared + "two", 3);
  twice.sampling.n = 2;
  ASSERT_TRUE(loop.submit(3, twice).ok());
  const auto waiting = [&] { return loop->waiting(); };
  using Ids = std::vector<RequestId>;
  EXPECT_EQ(waiting(), (Ids{1, 2, 3}));
  loop.step();
  loop.step();
  EXPECT_EQ(waiting(), (Ids{1, 2, 3})) << "both steps computed what is shared";
  loop.step();
  EXPECT_EQ(waiting(), (Ids{3}));
  while (loop.heard[2].completions.empty()) loop.step();
  loop.step();
  EXPECT_EQ(waiting(), Ids{});
  loop.run();
}

TEST(EngineLoop, WhatIsSharedIsCountedOnArrival) {
  TestLoop loop;
  ASSERT_TRUE(loop.submit(1, tiny_request("sixteen tokens, one", 3)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("sixteen tokens, two", 3)).ok());
  EXPECT_EQ(loop.stats().arrived_tokens, 38u);
  EXPECT_EQ(loop.stats().arrived_shared, 16u);
  EXPECT_EQ(loop.stats().prompt_tokens, 0u);
  loop.run();
  EXPECT_EQ(loop.stats().prefill_rows, 22u);
}

// Cached rows that several requests want the outputs of, each from another position on.
TEST(EngineLoop, RowsThatSeveralComputeAgainCountOnceInAStep) {
  const std::string prompt(41, 'p');  // the last row is of no use
  for (const std::vector<int>& begins :
       std::vector<std::vector<int>>{{1, 21}, {21, 1}, {1, 31, 11, 21}, {31, 21, 1, 11}}) {
    LoopOptions options = tiny_loop_options();
    options.engine.step_rows = 40;
    TestLoop loop(open_over_plans(options));
    ASSERT_TRUE(loop.submit(1, tiny_request(prompt, 1)).ok());
    loop.run();
    const EngineStats before = loop.stats();
    for (RequestId id = 2; const int begin : begins) {
      Request request = tiny_request(prompt, 0);
      request.prompt_logprobs_from = begin;
      ASSERT_TRUE(loop.submit(id++, request).ok());
    }
    EXPECT_EQ(loop.run(), 1) << begins[0];
    EXPECT_EQ(loop.stats().since(before).recomputed_rows, 40u);
    for (RequestId id = 2; const int begin : begins)
      EXPECT_EQ(loop.heard[id++].completions.at(0).prompt_logprobs.size(),
                prompt.size() - static_cast<size_t>(begin));
  }
}

}  // namespace
}  // namespace pando::testing
