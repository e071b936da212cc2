// Engines that pack their steps by predicted time.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

constexpr const char* kCosts =
    R"({"step_s":1e-3,"row_s":[1e-3,1e-3,1e-3,1e-3,1e-3],"head_s":0,"output_s":0,"key_s":0,"read_s":1e-6})";

LoopOptions options_for(const std::string& policy, double step_budget) {
  LoopOptions options = tiny_loop_options();
  options.engine.policy = policy;
  options.engine.step_budget = step_budget;
  options.engine.step_costs = kCosts;
  return options;
}

std::vector<Request> requests() {
  std::vector<Request> requests;
  for (int i = 0; i < 6; ++i) {
    Request request = tiny_request(std::string(i % 2 == 0 ? 300 : 20, 'x') + std::to_string(i), 5);
    request.sampling.n = 1 + i % 3;
    request.sampling.temperature = 1;
    request.sampling.seed = i;
    request.ttft_slo = 0.01 * i;
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(Policy, ChangesNoBit) {
  for (const char* policy : {"fcfs", "edf", "lrs", "lars"})
    for (const double step_budget : {0.0, 0.002, 0.02}) {
      TestLoop loop(options_for(policy, step_budget));
      RequestId id = 0;
      for (const Request& request : requests()) ASSERT_TRUE(loop.submit(++id, request).ok());
      loop.run();
      id = 0;
      for (const Request& request : requests()) {
        ++id;
        EXPECT_EQ(loop.answers(id), answers_alone(request)) << policy << " request " << id;
      }
      EXPECT_LE(loop.stats().prefill_rows, 2 * 310u) << "what is shared is computed once";
    }
}

TEST(Policy, AShortRequestPassesALongOne) {
  for (const char* policy : {"fcfs", "edf"}) {
    TestLoop loop(options_for(policy, 0.02));
    Request request = tiny_request(std::string(500, 'a'), 1);
    request.ttft_slo = 1e6;
    ASSERT_TRUE(loop.submit(1, request).ok());
    for (int i = 0; i < 3; ++i) loop.step();
    request = tiny_request("b", 1);
    request.ttft_slo = 1e-3;
    ASSERT_TRUE(loop.submit(2, request).ok());
    loop.step();
    EXPECT_EQ(loop.heard[2].completions.size(), policy == std::string("edf") ? 1u : 0u);
    EXPECT_TRUE(loop.heard[1].completions.empty());
    loop.run();
    EXPECT_EQ(loop.heard[1].completions.size(), 1u);
  }
}

TEST(Policy, StepsKeepToTheirBudgetInRows) {
  LoopOptions options = options_for("fcfs", 0.02);
  TestLoop loop(options);
  ASSERT_TRUE(loop.submit(1, tiny_request(std::string(190, 'a'), 1)).ok());
  EXPECT_GE(loop.run(), 8) << "nineteen rows a step, and more as costs are corrected";
}

TEST(Policy, TheBudgetOfStepsWithoutOneIsThatOfTheStrictestClass) {
  LoopOptions options = options_for("edf", 0);
  options.engine.deadline_classes = {{"", {.tpot_slo = 0.2}}, {"chat", {.tpot_slo = 0.02}}};
  TestLoop loop(options);
  ASSERT_TRUE(loop.submit(1, tiny_request(std::string(190, 'a'), 1)).ok());
  EXPECT_GE(loop.run(), 8);
}

TEST(Policy, DeadlinesMayBeThoseOfAClass) {
  for (const bool passes : {true, false}) {
    LoopOptions options = options_for("edf", 0.02);
    options.engine.deadline_classes = {{"patient", {.ttft_slo = 1e6}},
                                       {"urgent", {.ttft_slo = 1e-3, .ttft_per_work = 0}}};
    TestLoop loop(options);
    Request request = tiny_request(std::string(500, 'a'), 1);
    request.deadline_class = passes ? "patient" : "urgent";
    ASSERT_TRUE(loop.submit(1, request).ok());
    loop.step();
    request = tiny_request("b", 1);
    request.deadline_class = passes ? "urgent" : "patient";
    ASSERT_TRUE(loop.submit(2, request).ok());
    loop.step();
    EXPECT_EQ(loop.heard[2].completions.size(), passes ? 1u : 0u);
    loop.run();
    request.deadline_class = "none";
    EXPECT_EQ(loop.submit(3, request).error().message(),
              "deadline_class is 'none', expected 'patient' or 'urgent'");
  }
}

TEST(Policy, BaselinesWithoutChunksAndWithOnePrefillAtATime) {
  LoopOptions options = options_for("fcfs", 0);
  options.engine.step_rows = 16;
  options.engine.packing.whole_prompts = true;
  TestLoop whole(options);
  ASSERT_TRUE(whole.submit(1, tiny_request(std::string(190, 'a'), 5)).ok());
  EXPECT_EQ(whole.run(), 5);
  options.engine.packing = {};
  options.many_prefills = false;
  TestLoop single(options);
  for (RequestId id = 1; id <= 3; ++id)
    ASSERT_TRUE(single.submit(id, tiny_request(std::string(4, static_cast<char>(id)), 1)).ok());
  EXPECT_EQ(single.run(), 3);
}

TEST(Policy, SaysHowLongOpenPromptsWillTake) {
  TestLoop loop(options_for("lars", 0.02));
  EXPECT_EQ(loop.stats().queued_s, 0);
  ASSERT_TRUE(loop.submit(1, tiny_request(std::string(100, 'a'), 1)).ok());
  const double all = loop.stats().queued_s;
  EXPECT_GE(all, 0.1) << "a millisecond a row";
  for (int i = 0; i < 2; ++i) loop.step();
  EXPECT_LT(loop.stats().queued_s, all);
  EXPECT_GT(loop.stats().queued_s, 0);
  loop.run();
  EXPECT_EQ(loop.stats().queued_s, 0) << "though its last step was a prefill";
}

TEST(Policy, WhoWaitsGetsThePrefixOfAnother) {
  TestLoop loop(options_for("edf", 0.02));
  Request request = tiny_request(std::string(200, 'a'), 1);
  request.ttft_slo = 1e6;
  ASSERT_TRUE(loop.submit(1, request).ok());
  for (int i = 0; i < 3; ++i) loop.step();
  request = tiny_request(std::string(200, 'a') + "b", 1);
  request.ttft_slo = 1e-3;  // computes the rest of the prefix itself
  ASSERT_TRUE(loop.submit(2, request).ok());
  loop.run();
  EXPECT_GE(loop.stats().prefill_rows, 201u);
  EXPECT_LE(loop.stats().prefill_rows, 202u) << "the last row of the first one at most once more";
  for (RequestId id : {1, 2}) EXPECT_EQ(loop.answers(id), answers_alone(loop.heard[id].request));
}

TEST(Overload, OpenAnswersMayComeToOnlySoMuch) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(40);
  options.engine.max_queue = 0.25;  // forty tokens
  TestLoop loop(options);
  const std::string prompt(20, 'a');
  ASSERT_TRUE(loop.submit(1, tiny_request(prompt, 6)).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request(prompt, 6)).ok()) << "the prompt counts once";
  EXPECT_EQ(loop.stats().open_tokens, 32u);
  const Request other = tiny_request(std::string(10, 'b'), 6);
  const Status refused = loop.submit(3, other);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message(),
            "the open answers are predicted to need the keys and values of 48 tokens, expected at "
            "most 40");
  EXPECT_EQ(loop->n_sequences(), 2u);
  EXPECT_EQ(loop.stats().arrived_tokens, 40u);
  loop.run();
  EXPECT_EQ(loop.answers(2), answers_alone(loop.heard[2].request));
  EXPECT_TRUE(loop.submit(4, other).ok()) << "there is room again";
  loop.run();
  EXPECT_TRUE(loop.submit(5, tiny_request(std::string(80, 'c'), 6)).ok()) << "alone, anything";
  EXPECT_FALSE(loop.submit(6, tiny_request("d", 1)).ok());
  loop.run();
  EXPECT_EQ(loop.answers(5), answers_alone(loop.heard[5].request));
}

TEST(Overload, AnswersAreTakenToGetAsLongAsLateOnes) {
  LoopOptions options = tiny_loop_options();
  options.engine.max_queue = 1e-9;
  TestLoop loop(options);
  const auto to_come = [&](RequestId id) {  // of an answer that may be long
    EXPECT_TRUE(loop.submit(id, tiny_request("a", 100)).ok());
    const uint64_t n = loop.stats().open_tokens - 1;
    loop->cancel(id);
    EXPECT_EQ(loop.stats().open_tokens, 0u);
    return n;
  };
  EXPECT_EQ(to_come(1), 100u);
  for (RequestId id = 2; id < 400; ++id) {
    ASSERT_TRUE(loop.submit(id, tiny_request("a", 3)).ok());
    loop.run();
  }
  EXPECT_EQ(to_come(400), 6u);
}

TEST(Policy, EverybodyEndsWhereMemoryIsShort) {
  for (const char* policy : {"edf", "lrs", "lars"}) {
    LoopOptions options = options_for(policy, 0.02);
    options.engine.kv_memory = memory_for(90);
    TestLoop loop(options);
    for (RequestId id = 1; id <= 6; ++id) {
      Request request = tiny_request(std::string(200, static_cast<char>('a' + id)), 20);
      request.ttft_slo = 1.0 / static_cast<double>(id);  // the last one first
      ASSERT_TRUE(loop.submit(id, request).ok());
      loop.step();
    }
    loop.run();
    for (RequestId id = 1; id <= 6; ++id) EXPECT_EQ(loop.heard[id].completions.size(), 1u);
  }
}

TEST(Policy, SaysWhatIsMissing) {
  const auto message = [](LoopOptions options) { return open_tiny_loop(options).error().message(); };
  LoopOptions options = options_for("sjf", 0);
  EXPECT_EQ(message(options), "policy is 'sjf', expected fcfs, edf, lrs or lars");
  options = options_for("lars", -1);
  EXPECT_EQ(message(options), "step_budget is -1, expected 0 (no budget) or more seconds");
  options = options_for("lars", 0.1);
  options.engine.step_costs.clear();
  EXPECT_EQ(message(options),
            "policy 'lars' with a step_budget of 0.1 s needs predicted times, expected step_costs");
  options.engine.step_costs = "{}";
  EXPECT_EQ(message(options), "step_costs: 'step_s' is absent, expected seconds, 0 or more");
  options = options_for("lars", 0.1);
  options.engine.packing.rho_max = 1.5;
  EXPECT_EQ(message(options), "rho_max is 1.5, expected a share from 0 to 1");
  options = options_for("lars", 0.1);
  options.engine.packing.long_factor = 0;
  EXPECT_EQ(message(options), "long_factor is 0, expected more than 0");
  options = options_for("lars", 0.1);
  options.engine.deadline_classes["chat"].tpot_slo = 0;
  EXPECT_EQ(message(options), "deadline class 'chat' has 0 seconds, expected more than 0");
}

}  // namespace
}  // namespace pando::testing
