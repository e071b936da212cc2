// Rows computed against a naive count, and little memory for keys and values.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "engine/test_loop.h"

namespace pando::testing {
namespace {

using Path = std::vector<Token>;

struct Arrival {
  Request request;
  int step;  // before which it is submitted
};

// Rows that a step has to compute, by definition: a path that does not exist yet, token by token,
// or the last token of one that exists.
struct NaiveRows {
  uint64_t prefill = 0, decode = 0, recomputed = 0;
  std::set<Path> committed;

  // The paths of one step, first those of open answers.
  void step(const std::vector<Path>& decodes, const std::vector<Path>& prompts) {
    std::set<Path> computed;
    for (const auto& [paths, count] : {std::pair{&decodes, &decode}, {&prompts, &prefill}})
      for (const Path& path : *paths) {
        if (committed.contains(path) && computed.insert(path).second) {
          ++recomputed;
          ++*count;
        }
        for (Path prefix = path; !prefix.empty(); prefix.pop_back())
          if (!committed.contains(prefix) && computed.insert(prefix).second) ++*count;
      }
    committed.merge(computed);
  }
};

NaiveRows naive_rows(const std::vector<Arrival>& arrivals, TestLoop& loop) {
  NaiveRows rows;
  for (int step = 0, n_open = 1; n_open > 0; ++step) {
    std::vector<Path> decodes, prompts;
    n_open = 0;
    for (size_t i = 0; i < arrivals.size(); ++i)
      for (const auto& [choice, completion] : loop.heard[i + 1].completions) {
        const int n_before = step - arrivals[i].step;
        n_open += n_before < static_cast<int>(completion.tokens.size());
        if (n_before < 0 || n_before >= static_cast<int>(completion.tokens.size())) continue;
        Path path = arrivals[i].request.tokens;
        path.insert(path.end(), completion.tokens.begin(), completion.tokens.begin() + n_before);
        (n_before > 0 ? decodes : prompts).push_back(path);
      }
    rows.step(decodes, prompts);
  }
  return rows;
}

std::vector<Arrival> random_arrivals(std::mt19937& rng) {
  std::vector<Arrival> arrivals(2 + rng() % 8);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    Request& request = arrivals[i].request;
    request.logits_hash = true;
    if (i > 0 && rng() % 4 != 0) {  // a beginning of an earlier one
      request.tokens = arrivals[rng() % i].request.tokens;
      request.tokens.resize(1 + rng() % request.tokens.size());
    }
    const size_t n_more = request.tokens.empty() ? 1 + rng() % 20 : rng() % 10;
    for (size_t k = 0; k < n_more; ++k)
      request.tokens.push_back(static_cast<Token>('a' + rng() % 3));
    request.sampling.max_tokens = 1 + static_cast<int>(rng() % 6);
    request.sampling.ignore_eos = true;
    if (rng() % 3 == 0) {
      request.sampling.n = 1 + static_cast<int>(rng() % 3);
      request.sampling.temperature = 0.7;
    }
    arrivals[i].step = i == 0 ? 0 : arrivals[i - 1].step + static_cast<int>(rng() % 3);
  }
  return arrivals;
}

void run(TestLoop& loop, const std::vector<Arrival>& arrivals) {
  size_t n_arrived = 0;
  for (int step = 0;; ++step) {
    for (; n_arrived < arrivals.size() && arrivals[n_arrived].step <= step; ++n_arrived)
      ASSERT_TRUE(loop.submit(n_arrived + 1, arrivals[n_arrived].request).ok());
    if (!loop.step() && n_arrived == arrivals.size()) break;
  }
  EXPECT_EQ(loop.n_pins(), 0u);
}

TEST(EngineLoopRows, EqualANaiveCount) {
  std::mt19937 rng(17);
  uint64_t n_recomputed = 0;
  for (int round = 0; round < 150; ++round) {
    const std::vector<Arrival> arrivals = random_arrivals(rng);
    LoopOptions options = tiny_loop_options();
    if (round % 2 == 1) options.engine.sharing = "prefix_cached";
    TestLoop loop(options);
    run(loop, arrivals);
    const NaiveRows rows = naive_rows(arrivals, loop);
    const EngineStats stats = loop.stats();
    ASSERT_EQ(stats.prefill_rows, rows.prefill) << round;
    ASSERT_EQ(stats.decode_rows, rows.decode) << round;
    ASSERT_EQ(stats.recomputed_rows, rows.recomputed) << round;
    n_recomputed += rows.recomputed;
    uint64_t n_prompt = 0, n_generated = 0;
    for (const auto& [id, heard] : loop.heard)
      for (const auto& [choice, completion] : heard.completions) {
        n_prompt += heard.request.tokens.size();
        n_generated += completion.tokens.size();
      }
    EXPECT_EQ(stats.prompt_tokens, n_prompt);
    EXPECT_EQ(stats.generated_tokens, n_generated);
    EXPECT_EQ(stats.requests, arrivals.size());
    EXPECT_EQ(stats.preemptions + stats.evicted_pages, 0u);
  }
  EXPECT_GT(n_recomputed, 50u);
}

TEST(EngineLoopRows, AStepHasNoMoreThanAsked) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 5;
  TestLoop loop(options);
  for (RequestId id = 1; id <= 12; ++id)  // every third a duplicate
    ASSERT_TRUE(loop.submit(id, tiny_request("prompt " + std::to_string(id / 3), 4)).ok());
  uint64_t before = 0;
  while (loop.step()) {
    const uint64_t now = loop.stats().prefill_rows + loop.stats().decode_rows;
    EXPECT_LE(now - before, 5u);
    before = now;
  }
  for (const auto& [id, heard] : loop.heard)
    EXPECT_EQ(loop.answers(id), answers_alone(heard.request));
}

// Prompts that share more than a step's rows and want the log-probabilities of all of it: the
// shared rows are computed once, cold, and recomputed once, warm.
TEST(EngineLoopRows, ScoredPromptsShareTheirRows) {
  const std::string context(300, 'c');
  for (const int step_rows : {7, 32, 100, 1000}) {
    LoopOptions options = tiny_loop_options();
    options.engine.step_rows = step_rows;
    TestLoop loop(options);
    const auto ask_all = [&](RequestId first) {
      for (RequestId i = 0; i < 12; ++i) {
        Request request = tiny_request(context + static_cast<char>('a' + i) + "own?", 0);
        request.prompt_logprobs_from = 1;
        ASSERT_TRUE(loop.submit(first + i, request).ok());
      }
      loop.run();
    };
    ask_all(1);
    const EngineStats cold = loop.stats();
    EXPECT_EQ(cold.prefill_rows, context.size() + 12 * 4) << step_rows;
    EXPECT_EQ(cold.recomputed_rows, 0u) << step_rows;
    ask_all(101);
    EXPECT_EQ(loop.stats().since(cold).recomputed_rows, context.size() + 12 * 4) << step_rows;
    for (RequestId i = 1; i <= 12; ++i)
      EXPECT_EQ(loop.answers(i), loop.answers(100 + i)) << step_rows;
  }
}

TEST(EngineLoopMemory, ManySequencesInAFewPages) {
  for (const char* sharing : {"tree", "packed", "prefix_cached"}) {
    LoopOptions options = tiny_loop_options();
    options.engine.sharing = sharing;
    options.engine.kv_memory = memory_for(12);  // the longest takes 10
    TestLoop loop(options);
    for (int i = 0; i < 24; ++i) {
      const std::string prompt = std::string(1 + i % 9, 'x') + " question " + std::to_string(i % 7);
      ASSERT_TRUE(loop.submit(i + 1, tiny_request(prompt, 12 + i % 8)).ok());
    }
    loop.run();
    EXPECT_GT(loop.stats().preemptions, 0u) << sharing;
    EXPECT_LE(loop.stats().kv_bytes_peak, options.engine.kv_memory);
    for (const auto& [id, heard] : loop.heard) {
      ASSERT_FALSE(heard.error) << heard.error->message();
      EXPECT_EQ(loop.answers(id), answers_alone(heard.request)) << sharing << " " << id;
    }
  }
}

TEST(EngineLoopMemory, RandomPromptsInAsLittleAsCanBe) {
  std::mt19937 rng(23);
  for (int round = 0; round < 100; ++round) {
    const std::vector<Arrival> arrivals = random_arrivals(rng);
    size_t longest = 0;
    for (const Arrival& arrival : arrivals)
      longest =
          std::max(longest, arrival.request.tokens.size() + arrival.request.sampling.max_tokens);
    LoopOptions options = tiny_loop_options();
    options.engine.sharing = std::array{"tree", "packed", "prefix_cached"}[round % 3];
    options.engine.step_rows = std::array{1, 6, 512}[rng() % 3];
    TestLoop plenty(options);
    options.engine.kv_memory = memory_for((longest + 3) / 4);
    TestLoop little(options);
    run(plenty, arrivals);
    run(little, arrivals);
    for (RequestId id = 1; id <= arrivals.size(); ++id) {
      ASSERT_FALSE(little.heard[id].error) << little.heard[id].error->message();
      ASSERT_EQ(little.answers(id), plenty.answers(id)) << "round " << round << " request " << id;
    }
  }
}

TEST(EngineLoopMemory, TheOldestIsNeverPreempted) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(10);
  TestLoop loop(options);
  ASSERT_TRUE(loop.submit(1, tiny_request("a: the oldest one", 20)).ok());
  for (RequestId id = 2; id <= 6; ++id)
    ASSERT_TRUE(loop.submit(id, tiny_request(std::string(1, 'a' + id) + ": younger", 20)).ok());
  int n_steps = 0;
  for (; loop.heard[1].completions.empty(); ++n_steps) loop.step();
  EXPECT_EQ(n_steps, 20);
  loop.run();
  EXPECT_EQ(loop.answers(1), answers_alone(loop.heard[1].request));
}

TEST(EngineLoopMemory, WhoseGoingMakesNoRoomStays) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(7);  // the first two come to five pages each
  TestLoop loop(options);
  const Request request = tiny_request("a prompt", 12);
  ASSERT_TRUE(loop.submit(1, request).ok());
  ASSERT_TRUE(loop.submit(2, tiny_request("b prompt", 12)).ok());
  ASSERT_TRUE(loop.submit(3, request).ok());  // the youngest, on the path of the oldest
  for (int i = 0; i < 12; ++i) loop.step();
  EXPECT_EQ(loop.heard[1].completions.size(), 1u);
  EXPECT_EQ(loop.heard[3].completions.size(), 1u);
  loop.run();
  EXPECT_EQ(loop.stats().preemptions, 1u);
  // The rows that were computed, without those of distinct tokens: the last is not fed back.
  const uint64_t n_distinct = 2 * (8 + 11);
  EXPECT_EQ(loop.stats().recomputed_rows,
            loop.stats().prefill_rows + loop.stats().decode_rows - n_distinct);
  EXPECT_GT(loop.stats().recomputed_rows, 0u);
  for (RequestId id = 1; id <= 3; ++id)
    EXPECT_EQ(loop.answers(id), answers_alone(loop.heard[id].request));
}

// After a preemption no sequence starts until a running one ends; a waiting sequence frees nothing
// when it leaves.
TEST(EngineLoopMemory, WhoLeavesWhileItWaitsStartsNobody) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(12);
  options.engine.policy = "edf";
  options.engine.step_budget = 1e3;
  options.engine.step_costs =
      R"({"step_s":0,"row_s":[1e-3,1e-3,1e-3,1e-3,1e-3],"head_s":0,"output_s":0,"key_s":0,"read_s":0})";
  TestLoop loop(options);
  for (RequestId id = 1; id <= 12; ++id) {
    Request request = tiny_request(std::string(1 + id, static_cast<char>('a' + id)), 20);
    request.ttft_slo = 1e5 - 1e3 * static_cast<double>(id);  // the last is the most urgent
    request.tpot_slo = 1e5;                                  // however slow this machine is
    ASSERT_TRUE(loop.submit(id, std::move(request)).ok());
  }
  int n_guests = 0;
  uint64_t n_preempted = 0, n_ended = 0;
  bool tight = false;
  for (RequestId id = 100;; ++id) {
    const int n_running = loop.n_running();
    if (tight) {
      ++n_guests;
      ASSERT_TRUE(loop.submit(id, tiny_request("z prompt", 12)).ok());
      loop.cancel(id);
    }
    if (!loop.step()) break;
    const EngineStats stats = loop.stats();
    const bool ended = std::exchange(n_ended, stats.requests) != stats.requests;
    const bool preempted = std::exchange(n_preempted, stats.preemptions) != stats.preemptions;
    if (tight && !ended) {
      EXPECT_LE(loop.n_running(), n_running);
    }
    tight = !ended && (tight || preempted);
  }
  EXPECT_GT(n_guests, 10);
}

// A sequence that did not fit keeps others waiting until it leaves.
TEST(EngineLoopMemory, WhoDidNotFitLeaves) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(12);
  TestLoop loop(options);
  ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 30)).ok());
  loop.step();
  ASSERT_TRUE(loop.submit(2, tiny_request(std::string(43, 'x'), 1)).ok());
  ASSERT_TRUE(loop.submit(3, tiny_request("y", 2)).ok());
  loop.step();
  EXPECT_EQ(loop.n_running(), 1);
  loop.cancel(2);
  loop.step();
  EXPECT_EQ(loop.n_running(), 2);
  loop.run();
  EXPECT_EQ(loop.answers(3), answers_alone(loop.heard[3].request));
}

// A long context is slow to compute again. (Where time is predicted it is by 64 tokens.)
TEST(EngineLoopMemory, PreemptionTakesWhatIsQuickToComputeAgain) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(42);
  for (const bool timed : {false, true}) {
    if (timed) {
      options.engine.step_budget = 1e3;
      options.engine.step_costs =
          R"({"step_s":0,"row_s":[1e-3,1e-3,1e-3,1e-3,1e-3],"head_s":0,"output_s":0,"key_s":1e-2,"read_s":0})";
    }
    TestLoop loop(options);
    ASSERT_TRUE(loop.submit(1, tiny_request("a prompt", 40)).ok());
    ASSERT_TRUE(loop.submit(2, tiny_request("b prompt", 14)).ok());
    ASSERT_TRUE(loop.submit(3, tiny_request("c" + std::string(127, '.'), 14)).ok());
    while (loop.stats().preemptions == 0) loop.step();
    EXPECT_EQ(loop.stats().preemptions, 1u);
    EXPECT_TRUE(loop.heard[timed ? 2 : 3].completions.empty());
    while (loop.heard[timed ? 3 : 2].completions.empty()) loop.step();
    EXPECT_TRUE(loop.heard[timed ? 2 : 3].completions.empty()) << timed;
    loop.run();
    for (RequestId id = 1; id <= 3; ++id)
      EXPECT_EQ(loop.answers(id), answers_alone(loop.heard[id].request)) << timed;
  }
}

TEST(EngineLoopMemory, LessThanAPageIsRefused) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = memory_for(1) - 1;
  const auto loop = open_loop(tiny_model()->parts(), options);
  ASSERT_FALSE(loop.ok());
  EXPECT_EQ(loop.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(loop.error().message().starts_with("kv_memory is ")) << loop.error().message();
}

}  // namespace
}  // namespace pando::testing
