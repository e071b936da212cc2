// Engines that pack their steps by predicted time.
#include <gtest/gtest.h>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

constexpr const char* kCosts =
    R"({"step_s":1e-3,"row_s":[1e-3,1e-3,1e-3,1e-3,1e-3],"output_s":0,"key_s":0,"read_s":1e-6})";

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
  const auto message = [](LoopOptions options) {
    const Model::Parts& parts = tiny_model()->parts();
    return EngineLoop::create(parts.weights, parts.tokenizer.get(), options).error().message;
  };
  LoopOptions options = options_for("sjf", 0);
  EXPECT_EQ(message(options), "policy is 'sjf', expected fcfs, edf, lrs or lars");
  options = options_for("lars", -1);
  EXPECT_EQ(message(options), "step_budget is -1, expected seconds, 0 (none) or more");
  options = options_for("lars", 0.1);
  options.engine.step_costs.clear();
  EXPECT_EQ(message(options),
            "policy 'lars' with a step_budget of 0.1 goes by predicted time, expected step_costs");
  options.engine.step_costs = "{}";
  EXPECT_EQ(message(options), "step_costs: 'step_s' is absent, expected seconds, 0 or more");
  options = options_for("lars", 0.1);
  options.engine.sharing = "prepacked";
  EXPECT_EQ(message(options),
            "sharing 'prepacked' takes whole prompts in batches of its own, expected policy fcfs "
            "and no step_budget");
}

}  // namespace
}  // namespace pando::testing
