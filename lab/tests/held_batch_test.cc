// When a run with a planner that works per batch lets the engine begin.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <sstream>
#include <thread>
#include <utility>

#include "engine/tiny_engine.h"
#include "lab/tests/technique_testing.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

BatchOptions batch_options() {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  return options;
}

// Gives a line now and then, as a slow disk does, the first after longer than a run waits for more.
class SlowLines : public std::streambuf {
 public:
  SlowLines(std::vector<std::string> lines, std::chrono::milliseconds first)
      : lines_(std::move(lines)), wait_(first) {}

 protected:
  int_type underflow() override {
    if (next_ == lines_.size()) return traits_type::eof();
    std::this_thread::sleep_for(std::exchange(wait_, std::chrono::milliseconds(10)));
    std::string& line = lines_[next_++];
    setg(line.data(), line.data(), line.data() + line.size());
    return traits_type::to_int_type(line[0]);
  }

 private:
  std::vector<std::string> lines_;
  std::chrono::milliseconds wait_;
  size_t next_ = 0;
};

TEST(HeldBatch, DoesNotBeginWithTheFirstLinesAlone) {
  for (const auto& [sharing, first] :
       {std::pair{"padded:batch=4", 10}, {"prepacked:batch=4", 1200}}) {
    SlowLines lines(std::vector<std::string>(8, "{\"prompt\": \"A prompt\"}\n"),
                    std::chrono::milliseconds(first));
    std::istream in(&lines);
    std::ostringstream out;
    EngineOptions options = tiny_options();
    lab::open_techniques();
    options.sharing = sharing;
    const std::unique_ptr<Engine> engine = open_tiny(options);
    const auto summary = run_batch(*engine, in, 0, out, batch_options());
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->answers, 8u);
    const auto& figures = summary->stats.figures;
    const auto batches = std::ranges::find(figures, "batches", &Figure::name);
    ASSERT_NE(batches, figures.end()) << sharing;
    EXPECT_EQ(batches->value, 2) << sharing;
  }
}

// Gives its line twice, the second time when it is told to.
class AskingLines : public std::streambuf {
 public:
  explicit AskingLines(std::string line) : line_(std::move(line)) {}
  std::promise<void> go_on;
  bool was_told = false;

 protected:
  int_type underflow() override {
    if (n_given_ == 2) return traits_type::eof();
    if (n_given_++ == 1)
      was_told = go_on.get_future().wait_for(std::chrono::minutes(1)) == std::future_status::ready;
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_[0]);
  }

 private:
  std::string line_;
  int n_given_ = 0;
};

TEST(HeldBatch, BeginsWhereNoMoreComes) {
  AskingLines lines("{\"prompt\": \"A prompt\"}\n");
  std::istream in(&lines);
  std::ostringstream out;
  EngineOptions options = tiny_options();
  lab::open_techniques();
  options.sharing = "padded:batch=4";
  BatchOptions batch = batch_options();
  batch.on_answer = [&](const BatchAnswer& answer) {
    if (answer.key.line == 1) lines.go_on.set_value();
  };
  const std::unique_ptr<Engine> engine = open_tiny(options);
  const auto summary = run_batch(*engine, in, 0, out, batch);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->answers, 2u);
  EXPECT_TRUE(lines.was_told);
}

// Cannot be written to once the engine has this many requests that wait.
class FullDisk : public AnswerSink {
 public:
  FullDisk(const Engine& engine, RequestId n_requests, std::promise<void>& failed)
      : engine_(engine), n_requests_(n_requests), failed_(failed) {}
  void append(const AnswerRecord&, const std::string&) override {}
  Status commit() override {
    if (!engine_.is_waiting(n_requests_)) return {};
    failed_.set_value();
    return Error{ErrorCode::kIo, "the disk is full"};
  }

 private:
  const Engine& engine_;
  RequestId n_requests_;
  std::promise<void>& failed_;
};

TEST(HeldBatch, NothingIsComputedForARunThatFailedBeforeItBegan) {
  constexpr RequestId kMany = 200;  // they take longer to cancel than the engine to wake up
  std::string questions = "\"a\"";
  for (RequestId i = 1; i < kMany; ++i) questions += ", \"a\"";
  AskingLines lines(fmt::format("{{\"context\": \"A text\", \"questions\": [{}]}}\n", questions));
  std::istream in(&lines);
  EngineOptions options = tiny_options();
  lab::open_techniques();
  options.sharing = "padded:batch=4";
  const std::unique_ptr<Engine> engine = open_tiny(options);
  FullDisk disk(*engine, kMany, lines.go_on);
  const auto summary = run_batch(*engine, in, 0, disk, batch_options());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().message(), "the disk is full");
  ASSERT_TRUE(engine->complete(tiny_request("b")).ok());
  EXPECT_EQ(engine->stats().arrived_tokens, 1u);  // of this one alone
}

// A listener of one that failed is gone before the engine hears of it, as long as it is held.
TEST(HeldBatch, WhatFailedBeforeItBeginsTakesNoPlace) {
  EngineOptions options = tiny_options();
  lab::open_techniques();
  options.sharing = "padded:batch=4";
  options.max_open = 4;
  BatchOptions batch = batch_options();
  batch.task = BatchTask::kRerank;
  const std::string too_long(2 * kTinyContext, 'x');
  std::string input;
  for (int i = 0; i < 3; ++i)
    input += fmt::format("{{\"query\": \"q\", \"documents\": [\"a\", \"{}\"]}}\n", too_long);
  input += "{\"query\": \"q\", \"documents\": [\"a\"]}\n";
  std::istringstream in(input);
  std::ostringstream out;
  const std::unique_ptr<Engine> engine = open_tiny(options);
  const auto summary = run_batch(*engine, in, input.size(), out, batch);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->failed, 3u);
  EXPECT_EQ(summary->answers, 1u);
}

}  // namespace
}  // namespace pando::testing
