// Files that end or fail in the middle, and the reports on the way.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <streambuf>
#include <thread>

#include "engine/tiny_engine.h"
#include "pando/batch.h"
#include "pando/file_input.h"

namespace pando::testing {
namespace {

// Takes so many bytes and then refuses.
class FullDisk : public std::streambuf {
 public:
  explicit FullDisk(size_t n_bytes) : left_(n_bytes) {}

 private:
  int_type overflow(int_type c) override {
    if (left_ == 0) return traits_type::eof();
    --left_;
    return c;
  }
  size_t left_;
};

// Accepts everything and cannot bring it to the disk.
class NeverFlushed : public std::stringbuf {
  int sync() override { return -1; }
};

// Gives its text and then an error of the device.
class BrokenInput : public std::streambuf {
 public:
  explicit BrokenInput(std::string text) : text_(std::move(text)) {
    setg(text_.data(), text_.data(), text_.data() + text_.size());
  }

 private:
  int_type underflow() override { throw std::runtime_error("input/output error"); }
  std::string text_;
};

std::string input_of(int n_lines) {
  std::string input;
  for (int i = 0; i < n_lines; ++i)
    input += "{\"prompt\": \"question " + std::to_string(i) + "\", \"max_tokens\": 3}\n";
  return input;
}

TEST(BatchStreams, OutputThatFailsIsAnError) {
  const std::unique_ptr<Engine> engine = open_tiny();
  for (const size_t n_bytes : {0, 1, 50, 500, 1000}) {
    std::istringstream in(input_of(200));
    FullDisk disk(n_bytes);
    std::ostream out(&disk);
    const auto summary = run_batch(*engine, in, 0, out, {});
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().code, ErrorCode::kIo);
    EXPECT_TRUE(summary.error().message().starts_with("cannot write the output after "))
        << summary.error().message();
  }
  // Open requests were cancelled: the engine is free for others.
  EXPECT_TRUE(engine->complete(tiny_request("next")).ok());
}

TEST(BatchStreams, OutputThatFailsAtTheEndIsAnError) {
  std::istringstream in(input_of(3));
  NeverFlushed buffer;
  std::ostream out(&buffer);
  const auto summary = run_batch(*open_tiny(), in, 0, out, {});
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kIo);
}

TEST(BatchStreams, InputThatFailsIsAnErrorAndAnswersStay) {
  BrokenInput buffer(input_of(3));
  std::istream in(&buffer);
  std::ostringstream out;
  const auto summary = run_batch(*open_tiny(), in, 0, out, {});
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kIo);
  EXPECT_EQ(summary.error().message(), "cannot read the input after line 3: a device error");
  const std::string answers = out.str();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 3);
}

TEST(BatchStreams, AnswersDoNotWaitForTheNextLine) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  FileInput input;
  ASSERT_TRUE(input.open("/dev/fd/" + std::to_string(ends[0])).ok());
  std::istream in(&input);
  std::ostringstream out;
  BatchOptions options;
  int n_answers = 0;
  options.on_answer =
      [&](const BatchAnswer&) {  // the next line is written when the last is answered
        if (++n_answers == 3) return static_cast<void>(close(ends[1]));
        ASSERT_GT(write(ends[1], "{\"prompt\": \"next\"}\n", 19), 0);
      };
  ASSERT_GT(write(ends[1], "{\"prompt\": \"first\"}\n", 20), 0);
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->answers, 3u);
  close(ends[0]);
}

// The write end stays open: only an interrupted read ends.
TEST(BatchStreams, AStopOrAnErrorDoesNotWaitForInput) {
  for (const bool stops : {true, false}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    FileInput input;
    ASSERT_TRUE(input.open("/dev/fd/" + std::to_string(ends[0])).ok());
    std::istream in(&input);
    ASSERT_GT(write(ends[1], "{\"prompt\": \"first\"}\n", 20), 0);
    std::atomic<bool> stop = false;
    BatchOptions options;
    options.stop = &stop;
    options.on_answer = [&](const BatchAnswer&) { stop = stops; };
    FullDisk disk(5);
    std::ostringstream good;
    std::ostream full(&disk);
    const auto summary = run_batch(*open_tiny(), in, 0, stops ? good : full, options);
    EXPECT_EQ(summary.ok(), stops);
    if (stops) {
      EXPECT_TRUE(summary->stopped);
      EXPECT_EQ(summary->answers, 1u);
    }
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(BatchStreams, AStopFinishesWhatIsUnderWay) {
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 4;
  std::istringstream in(input_of(300));
  std::ostringstream out;
  std::atomic<bool> stop = false;
  BatchOptions options;
  options.stop = &stop;
  options.on_answer = [&](const BatchAnswer&) { stop = true; };
  const auto summary = run_batch(*open_tiny(engine_options), in, 0, out, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_TRUE(summary->stopped);
  EXPECT_GE(summary->answers, 1u);
  EXPECT_LE(summary->answers, 2u * 8);  // twice what is open at a time
  const std::string answers = out.str();
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'),
            static_cast<int64_t>(summary->answers));
}

TEST(BatchStreams, ProgressKnowsTheShareDone) {
  const std::string input = input_of(300);
  for (const uint64_t n_bytes : {uint64_t{input.size()}, uint64_t{10}, uint64_t{0}}) {
    EngineOptions engine_options = tiny_options();
    engine_options.max_running = 8;
    const std::unique_ptr<Engine> engine = open_tiny(engine_options);
    std::istringstream in(input);
    std::ostringstream out;
    BatchOptions options;
    double share = -1;
    uint64_t n_done = 0;
    options.on_progress = [&](const BatchProgress& now) {
      EXPECT_GE(now.share_done, share);
      EXPECT_LE(now.share_done, 1);
      EXPECT_GE(now.answers_done, n_done);
      EXPECT_GT(now.seconds, 0);
      share = now.share_done;
      n_done = now.answers_done;
    };
    // Reports are half a second apart: the last answer waits for one.
    options.on_answer = [&](const BatchAnswer& answer) {
      if (answer.id == "250") std::this_thread::sleep_for(std::chrono::milliseconds(510));
    };
    ASSERT_TRUE(run_batch(*engine, in, n_bytes, out, options).ok());
    EXPECT_GT(n_done, 0u);
    EXPECT_GE(share, n_bytes == input.size() ? 0.8 : n_bytes == 10 ? 1 : 0);
    EXPECT_LE(share, n_bytes == 0 ? 0 : 1);
  }
}

TEST(BatchStreams, StatsAreThoseOfTheRun) {
  const std::unique_ptr<Engine> engine = open_tiny();
  for (int i = 0; i < 2; ++i) {
    std::istringstream in(input_of(5));
    std::ostringstream out;
    const auto summary = run_batch(*engine, in, 0, out, {});
    ASSERT_TRUE(summary.ok());
    EXPECT_EQ(summary->stats.requests, 5u);
    EXPECT_EQ(summary->stats.prompt_tokens, 50u);
    EXPECT_EQ(summary->stats.prefill_rows, i == 0 ? 9u + 5 : 5u);
    EXPECT_GT(summary->seconds, 0);
  }
}

}  // namespace
}  // namespace pando::testing
