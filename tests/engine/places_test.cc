// Places of models with recurrent layers, over an executor that follows the states of plans.
#include <gtest/gtest.h>

#include <random>

#include "engine/random_requests.h"
#include "engine/test_loop.h"

namespace pando::testing {
namespace {

constexpr size_t kPlentyOfSlots = 500;

TestLoop loop_with(size_t n_slots, LoopOptions options = tiny_loop_options(),
                   size_t fail_each = 0) {
  return TestLoop(open_over_plans(options, n_slots, fail_each));
}

// Tokens and hashes of logits, by request.
std::map<RequestId, std::vector<Answer>> answers_of(const TestLoop& loop) {
  std::map<RequestId, std::vector<Answer>> answers;
  for (const auto& [id, heard] : loop.heard) {
    EXPECT_FALSE(heard.error) << id << ": " << heard.error->message();
    answers[id] = loop.answers(id);
  }
  return answers;
}

Request request_of(std::string prompt, int max_tokens) {
  Request request = tiny_request(std::move(prompt), max_tokens);
  request.logits_hash = true;
  request.sampling.ignore_eos = true;
  return request;
}

TEST(Places, QuestionsGoOnFromTheEndOfTheirDocument) {
  TestLoop loop = loop_with(kPlentyOfSlots);
  const std::string document = "a document of some forty characters long ";
  for (RequestId id = 1; id <= 8; ++id)
    ASSERT_TRUE(loop.submit(id, request_of(document + std::string(1, 'A' + id), 3)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.stats().prefill_rows, document.size() + 8);

  // Paths part at its end, so a place exists: another question computes its own row only.
  ASSERT_TRUE(loop.submit(9, request_of(document + "Z", 3)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.stats().prefill_rows, document.size() + 9);
}

TEST(Places, APathThatIsJoinedElsewhereIsComputedAgainFromTheLastPlace) {
  LoopOptions options = tiny_loop_options();
  options.engine.place_every = 16;
  TestLoop loop = loop_with(kPlentyOfSlots, options);
  const std::string prompt = "forty characters, of which 20 are common";
  ASSERT_EQ(prompt.size(), 40u);
  ASSERT_TRUE(loop.submit(1, request_of(prompt, 2)).ok());
  loop.run();
  const uint64_t n_before = loop.stats().prefill_rows;
  ASSERT_TRUE(loop.submit(2, request_of(prompt.substr(0, 20) + "!", 2)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 4u);  // 16 to 19
  EXPECT_EQ(loop.stats().prefill_rows, n_before + 5);
  // The position where it joined has a place now.
  ASSERT_TRUE(loop.submit(3, request_of(prompt.substr(0, 20) + "?", 2)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 4u);
}

TEST(Places, AConversationGoesOnFromTheEndOfItsAnswer) {
  TestLoop loop = loop_with(kPlentyOfSlots);
  ASSERT_TRUE(loop.submit(1, request_of("a question", 6)).ok());
  loop.run();
  Request next = request_of("a question", 6);
  next.tokens = bytes_of(next.prompt);
  const std::vector<Token> answer = loop.heard[1].completions[0].tokens;
  next.tokens.insert(next.tokens.end(), answer.begin(), answer.end());
  next.tokens.push_back('!');
  ASSERT_TRUE(loop.submit(2, next).ok());
  loop.run();
  answers_of(loop);
  // The sixth and last token of the answer was never computed, and the state behind the fifth was
  // not kept.
  EXPECT_EQ(loop.stats().recomputed_rows, 1u);
  EXPECT_EQ(loop.heard[2].completions[0].shared_tokens, 14);
}

// Sequences that wait for the same rows to be computed again compute them together.
TEST(Places, RowsOnTheWayToAPlaceAreComputedOnce) {
  TestLoop loop = loop_with(kPlentyOfSlots);
  const std::string prompt = "twenty characters or";
  ASSERT_TRUE(loop.submit(1, request_of(prompt, 1)).ok());
  loop.run();
  for (RequestId id = 2; id <= 5; ++id)
    ASSERT_TRUE(
        loop.submit(id, request_of(prompt.substr(0, 10) + std::string(1, 'A' + id), 1)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 10u);
}

// Rows that one sequence computes again for all count as shared for the others, not for it.
TEST(Places, RowsComputedAgainCountAsSharedForAllButOne) {
  TestLoop loop = loop_with(kPlentyOfSlots);
  const std::string prompt = "forty characters, of which 20 are common";
  ASSERT_TRUE(loop.submit(1, request_of(prompt, 2)).ok());
  loop.run();
  const EngineStats before = loop.stats();
  Request request = request_of(prompt.substr(0, 20) + "!", 2);
  request.sampling.n = 3;
  ASSERT_TRUE(loop.submit(2, request).ok());
  loop.run();
  std::multiset<int> shared;
  for (const auto& [choice, completion] : loop.heard[2].completions)
    shared.insert(completion.shared_tokens);
  EXPECT_EQ(shared, (std::multiset<int>{0, 21, 21}));
  const EngineStats stats = loop.stats().since(before);
  EXPECT_EQ(stats.prefill_rows, stats.arrived_tokens - stats.arrived_shared);
}

// More answers than there are slots for wait; none is computed twice.
TEST(Places, NoMoreAnswersStartThanHaveSlots) {
  TestLoop loop = loop_with(8);
  for (RequestId id = 1; id <= 20; ++id)
    ASSERT_TRUE(loop.submit(id, request_of(std::string(1, 'A' + id) + " prompt", 5)).ok());
  while (loop.step()) EXPECT_LE(loop.n_running(), 2);
  answers_of(loop);
  EXPECT_EQ(loop.stats().preemptions, 0u);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.stats().prefill_rows, 20u * 8);
}

// No other sequence could continue from a place that a sequence leaves.
TEST(Places, WhereNothingIsSharedEachSequenceHasItsOwnPlaceOnly) {
  std::map<std::string, std::map<RequestId, std::vector<Answer>>> answers;
  for (const char* sharing : {"packed", "tree"}) {
    LoopOptions options = tiny_loop_options();
    options.engine.sharing = sharing;
    options.engine.place_every = 1;
    options.engine.step_rows = 7;
    TestLoop loop = loop_with(12, options);
    const auto n_places = [&] { return loop->cache().places().n_used(); };
    for (RequestId id = 1; id <= 20; ++id)
      ASSERT_TRUE(loop.submit(id, request_of(std::string(1, 'A' + id) + " prompt", 5)).ok());
    const bool is_packed = options.engine.sharing == "packed";
    while (loop.step())
      EXPECT_LE(n_places(), is_packed ? static_cast<size_t>(loop.n_running()) : 12u);
    answers[sharing] = answers_of(loop);
    EXPECT_EQ(loop->cache().places().n_evicted() == 0, is_packed);
  }
  EXPECT_EQ(answers["packed"], answers["tree"]);
}

// Answers that were preempted start again from one place, and compute one row together.
TEST(Places, PreemptedAnswersStartAgainTogether) {
  LoopOptions options = tiny_loop_options();
  options.engine.kv_memory = kTinyPageBytes * 76;  // the prompt takes 65, and eight answers 4 each
  TestLoop loop = loop_with(kPlentyOfSlots, options);
  Request request = request_of(std::string(260, 'p'), 14);
  request.sampling.n = 8;
  request.sampling.temperature = 1.0;
  ASSERT_TRUE(loop.submit(1, request).ok());
  loop.run();
  answers_of(loop);
  EXPECT_GT(loop.stats().preemptions, 1u);
  EXPECT_GT(loop.stats().recomputed_rows, 0u);
}

// Few pages, few slots, small steps, failed steps, cancelled requests, all exact planners: every
// answer is that of an engine without states, and no row ever gets another path's state.
TEST(Places, AnswersAreThoseWithoutStates) {
  std::mt19937 rng(40);
  uint64_t n_recomputed = 0, n_evicted = 0, n_preempted = 0, n_failed = 0;
  for (int round = 0; round < 2000; ++round) {
    LoopOptions options = tiny_loop_options();
    const bool is_short = rng() % 2 == 0;
    options.engine.kv_memory = kTinyPageBytes * (is_short ? 20 + rng() % 20 : 400);
    const size_t longest = !is_short && rng() % 8 == 0 ? 330 : 40;
    const std::vector<Request> requests = random_requests(rng, longest);
    options.engine.sharing = std::array{"tree", "tree", "prefix_cached", "packed"}[rng() % 4];
    options.engine.place_every = 1 + static_cast<int>(rng() % 30);
    if (rng() % 2 == 0) options.engine.step_rows = 1 + static_cast<int>(rng() % 12);
    const size_t fail_each = rng() % 4 == 0 ? 5 + rng() % 20 : 0;
    TestLoop with = loop_with(2 + rng() % 20, options, fail_each);
    TestLoop without(open_over_plans(options));
    std::vector<RequestId> cancelled;  // or failed
    size_t n_arrived = 0;
    while (n_arrived < requests.size() || with->n_sequences() > 0) {
      if (n_arrived < requests.size() && rng() % 2 == 0) {
        ++n_arrived;
        ASSERT_TRUE(with.submit(n_arrived, requests[n_arrived - 1]).ok());
        ASSERT_TRUE(without.submit(n_arrived, requests[n_arrived - 1]).ok());
        if (rng() % 8 == 0) {
          cancelled.push_back(1 + rng() % n_arrived);
          with.cancel(cancelled.back());
        }
      }
      with.step();
    }
    without.run();
    EXPECT_EQ(with.n_pins(), 0u);
    EXPECT_EQ(with->cache().places().n_held(), 0u) << round;
    for (auto& [id, heard] : with.heard) {
      if (!heard.error || heard.error->message() != "this step is to fail") continue;
      heard.error.reset();
      cancelled.push_back(id);
      ++n_failed;
    }
    auto expected = answers_of(without), found = answers_of(with);
    for (const RequestId id : cancelled) expected.erase(id), found.erase(id);
    ASSERT_EQ(found, expected) << "round " << round;
    n_recomputed += with.stats().recomputed_rows;
    n_evicted += with->cache().places().n_evicted();
    n_preempted += with.stats().preemptions;
  }
  EXPECT_GT(n_recomputed, 10000u);
  EXPECT_GT(n_evicted, 10000u);
  EXPECT_GT(n_preempted, 30u);
  EXPECT_GT(n_failed, 100u);
}

}  // namespace
}  // namespace pando::testing
