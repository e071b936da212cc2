// Layers with a sliding window give pages back, over an executor that follows the plans.
#include <gtest/gtest.h>

#include <random>

#include "engine/random_requests.h"
#include "engine/test_loop.h"

namespace pando::testing {
namespace {

constexpr uint32_t kWindow = 13;  // positions; pages have 4, tiles 8

TestLoop loop_with(size_t n_window_pages, const LoopOptions& options = tiny_loop_options(),
                   size_t fail_each = 0) {
  const WindowSizes windows{.window = kWindow,
                            .tile_len = static_cast<uint32_t>(options.tile_len),
                            .n_pages = n_window_pages};
  return TestLoop(open_over_plans(options, /*n_slots=*/0, fail_each, windows));
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

size_t n_window_pages(TestLoop& loop) { return loop->cache().windows().pool().n_used(); }

TEST(Windows, MemoryDoesNotGrowWithThePrompt) {
  LoopOptions options = tiny_loop_options();
  options.engine.step_rows = 16;
  for (const size_t length : {100, 200, 300}) {
    TestLoop loop = loop_with(/*n_window_pages=*/200, options);
    ASSERT_TRUE(loop.submit(1, request_of(std::string(length, 'a'), 3)).ok());
    size_t most = 0;
    while (loop.step()) most = std::max(most, n_window_pages(loop));
    answers_of(loop);
    // In front of 16 rows, 13 positions, to whole tiles: 9 pages at most. And the windows that stay
    // every 2,048 positions: none.
    EXPECT_LE(most, 9u) << length;
    EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  }
}

TEST(Windows, APromptOfAnyLengthGoesThroughLittleMemory) {
  TestLoop loop = loop_with(/*n_window_pages=*/8);
  for (RequestId id = 1; id <= 3; ++id)
    ASSERT_TRUE(
        loop.submit(id, request_of(std::string(300, static_cast<char>('a' + id)), 20)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_LE(n_window_pages(loop), 8u);
}

TEST(Windows, QuestionsGoOnFromTheEndOfTheirDocument) {
  TestLoop loop = loop_with(/*n_window_pages=*/200);
  std::string document;
  for (int i = 0; i < 120; ++i) document += static_cast<char>('a' + i % 26);
  for (RequestId id = 1; id <= 8; ++id) {
    const std::string question(40, static_cast<char>('A' + id));  // longer than the window
    ASSERT_TRUE(loop.submit(id, request_of(document + question, 3)).ok());
  }
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.stats().prefill_rows, document.size() + 8 * 40);

  // Paths part there, so its window stayed.
  ASSERT_TRUE(loop.submit(9, request_of(document + "Z", 3)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  // No window exists behind 50 characters: all of them are computed again.
  ASSERT_TRUE(loop.submit(10, request_of(document.substr(0, 50) + "!", 3)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 50u);
}

// Windows that end at multiples of place_every stay; four windows are the least distance.
TEST(Windows, StayAtRegularDistances) {
  LoopOptions options = tiny_loop_options();
  options.engine.place_every = 60;
  TestLoop loop = loop_with(/*n_window_pages=*/200, options);
  std::string prompt;
  for (int i = 0; i < 200; ++i) prompt += static_cast<char>('a' + i % 26);
  ASSERT_TRUE(loop.submit(1, request_of(prompt, 1)).ok());
  loop.run();
  ASSERT_TRUE(loop.submit(2, request_of(prompt.substr(0, 130) + "!", 1)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 10u);  // from 120
}

// A path that is joined inside a window goes on at the token: nothing is computed again.
TEST(Windows, ShortPathsAreJoinedAnywhere) {
  TestLoop loop = loop_with(/*n_window_pages=*/200);
  ASSERT_TRUE(loop.submit(1, request_of("abcdefghijkl", 1)).ok());
  loop.run();
  ASSERT_TRUE(loop.submit(2, request_of("abcdefg!", 1)).ok());
  loop.run();
  answers_of(loop);
  EXPECT_EQ(loop.stats().recomputed_rows, 0u);
  EXPECT_EQ(loop.stats().prefill_rows, 13u);
}

TEST(Windows, AnswersAreThoseOfAModelThatKeepsAll) {
  uint64_t n_recomputed = 0, n_evicted = 0, n_preempted = 0, n_failed = 0;
  for (int round = 0; round < 1000; ++round) {
    std::mt19937 rng(round);
    LoopOptions options = tiny_loop_options();
    options.engine.kv_memory = kTinyPageBytes * (rng() % 2 == 0 ? 400 : 40 + rng() % 20);
    const std::vector<Request> requests = random_requests(rng, rng() % 4 == 0 ? 150 : 40);
    options.engine.sharing = std::array{"tree", "tree", "prefix_cached", "packed"}[rng() % 4];
    options.engine.place_every = rng() % 2 == 0 ? 1 : 2048;
    if (rng() % 2 == 0) options.engine.step_rows = 1 + static_cast<int>(rng() % 12);
    const size_t fail_each = rng() % 4 == 0 ? 5 + rng() % 20 : 0;
    TestLoop with = loop_with(8 + rng() % 20, options, fail_each);
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
      with->cache().check_invariants();
    }
    without.run();
    EXPECT_EQ(with.n_pins(), 0u);
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
    n_evicted += with->cache().windows().n_evicted();
    n_preempted += with.stats().preemptions;
  }
  EXPECT_GT(n_recomputed, 10000u);
  EXPECT_GT(n_evicted, 1000u);
  EXPECT_GT(n_preempted, 30u);
  EXPECT_GT(n_failed, 100u);
}

}  // namespace
}  // namespace pando::testing
