#include "engine/step_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "api/engine.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

using Clock = StepTurns::Clock;
constexpr Clock::time_point kNoon{std::chrono::hours(12)};

void wait_for(const StepTurns& turns, size_t n_waiting) {
  while (turns.n_waiting() < n_waiting) std::this_thread::yield();
}

// Threads that wait for a turn, note it and give it back. All wait before the first goes on.
class Waiting {
 public:
  void add(const std::string& name, Clock::time_point start_by) {
    threads_.emplace_back([this, name, start_by] {
      StepTurns::Claim claim;
      EXPECT_TRUE(turns_.take(claim, start_by));
      order_ += name;  // one has the turn at a time
      turns_.give_back(claim);
    });
    wait_for(turns_, threads_.size());
  }
  std::string run() {
    turns_.give_back(first_);
    for (std::thread& thread : threads_) thread.join();
    return order_;
  }

 private:
  StepTurns turns_;
  StepTurns::Claim first_;
  const bool has_turn_ = turns_.take(first_, kNoon);
  std::string order_;
  std::vector<std::thread> threads_;
};

TEST(StepTurns, GoToTheLeastSlack) {
  Waiting waiting;
  waiting.add("c", kNoon + std::chrono::seconds(3));
  waiting.add("a", kNoon - std::chrono::seconds(1));
  waiting.add("b", kNoon);
  EXPECT_EQ(waiting.run(), "abc");
}

TEST(StepTurns, AreKeptByAClaimThatIsMoreUrgentThanTheOthers) {
  StepTurns turns;
  StepTurns::Claim urgent, patient;
  ASSERT_TRUE(turns.take(urgent, kNoon));
  std::atomic<bool> has_gone{false};
  std::thread other([&] {
    EXPECT_TRUE(turns.take(patient, kNoon + std::chrono::seconds(1)));
    has_gone = true;
    turns.give_back(patient);
  });
  wait_for(turns, 1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(turns.take(urgent, kNoon));
    EXPECT_FALSE(has_gone);
  }
  StepTurns::Claim third;
  EXPECT_FALSE(turns.try_take(third));
  turns.give_back(urgent);
  other.join();
  EXPECT_TRUE(has_gone);
  EXPECT_TRUE(turns.try_take(third));
}

TEST(StepTurns, AnEngineThatReconsidersHasNoTurn) {
  StepTurns turns;
  StepTurns::Claim busy, waits;
  ASSERT_TRUE(turns.take(busy, kNoon));
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    EXPECT_FALSE(turns.take(waits, kNoon));
    is_over = true;
  });
  while (!is_over) {
    turns.reconsider(waits);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  other.join();
  turns.give_back(busy);
  EXPECT_TRUE(turns.try_take(busy));
}

// Bits of two engines that share turns, asked at once, are those of an engine alone.
TEST(StepTurns, ChangeNoBit) {
  const auto turns = std::make_shared<StepTurns>();
  std::vector<std::vector<std::vector<Token>>> answers(3);
  const auto ask = [&](size_t which, Engine& engine) {
    for (int i = 0; i < 5; ++i) {
      const auto completions = engine.complete(tiny_request("prompt " + std::to_string(i), 20));
      ASSERT_TRUE(completions.ok());
      answers[which].push_back(completions->front().tokens);
    }
  };
  const auto alone = open_tiny();
  ask(0, *alone);
  auto first = open_engine(tiny_model(), {.engine = tiny_options(), .turns = turns});
  auto second = open_engine(tiny_model(), {.engine = tiny_options(), .turns = turns});
  ASSERT_TRUE(first.ok() && second.ok());
  std::thread other([&] { ask(1, **first); });
  ask(2, **second);
  other.join();
  EXPECT_EQ(answers[1], answers[0]);
  EXPECT_EQ(answers[2], answers[0]);
}

}  // namespace
}  // namespace pando::testing
