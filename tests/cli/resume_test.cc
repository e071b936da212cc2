// Commands that are killed or stopped, and `pando run` that is resumed.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include "cli/process.h"

namespace pando::testing {
namespace {

constexpr int kOk = 0, kFailed = 1, kUsage = 2;  // src/cli/exit_code.h

class ResumeTest : public ProcessTest {
 protected:
  static constexpr int kQuestions = 4000;

  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    std::string input;
    for (int i = 0; i < kQuestions / 2; ++i)
      input += fmt::format(
          "{{\"id\": {0}, \"context\": \"Context {1}.\", \"questions\": [\"What is {0}?\", "
          "{{\"text\": \"Why?\", \"answers\": [\"x\"]}}]}}\n",
          i, i / 8);
    folder().write("many.jsonl", input);
    folder().write("other.jsonl", input.substr(1 + input.find('\n')));
  }

  void SetUp() override {
    for (const char* name : {"a.jsonl", "a.jsonl.journal"}) std::filesystem::remove(at(name));
  }

  static constexpr const char* kCommand =
      "run --model m --threads 1 --kv-memory 64MiB --max-tokens 12 --ignore-eos --temperature 1 "
      "--input many.jsonl --output ";

  static std::string words_of_stopped_perplexity(const std::string& options,
                                                 std::chrono::milliseconds delay);
  static bool is_said_by_stopped_perplexity(const std::string& options, const char* words);

  static std::multiset<std::string> lines_of(const std::string& name) {
    std::ifstream file(at(name));
    std::multiset<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.insert(line);
    return lines;
  }

  // Starts the run in the background.
  static pid_t start() { return start_command(std::string(kCommand) + "a.jsonl --resume"); }

  static pid_t start_command(const std::string& arguments) {
    const pid_t child = fork();
    if (child != 0) return child;
    if (chdir(folder().path().c_str()) != 0) _exit(99);
    const int nowhere = open("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, 0666);
    dup2(nowhere, STDERR_FILENO);
    const std::string command = "exec '" PANDO_BINARY "' " + arguments;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(99);
  }

  // Waits until the process has a handler of SIGTERM, or ends.
  static void wait_for_handler(pid_t child) {
    const uint64_t bit = uint64_t{1} << (SIGTERM - 1);
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
      std::ifstream status(fmt::format("/proc/{}/status", child));
      for (std::string line; std::getline(status, line);)
        if (line.starts_with("SigCgt:") && (std::stoull(line.substr(7), nullptr, 16) & bit) != 0)
          return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  // Waits until the answers have so many bytes, or the process ends.
  static void wait_for(size_t n_bytes, pid_t child) {
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == 0) {
      struct stat status {};
      if (stat(at("a.jsonl").c_str(), &status) == 0 && size_t(status.st_size) >= n_bytes) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  static int64_t n_journal_lines() {
    const std::string journal = contents(at("a.jsonl.journal"));
    return std::count(journal.begin(), journal.end(), '\n');
  }

  static int ended(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
};

TEST_F(ResumeTest, KilledRunsComeToTheSameAnswers) {
  ASSERT_EQ(pando(std::string(kCommand) + "whole.jsonl --overwrite").code, kOk);
  const std::multiset<std::string> whole = lines_of("whole.jsonl");
  EXPECT_EQ(whole.size(), size_t{kQuestions});
  const size_t n_bytes = std::filesystem::file_size(at("whole.jsonl"));
  const bool slow = std::getenv("PANDO_SLOW_TESTS") != nullptr;
  std::mt19937 random(1);
  int n_killed = 0;
  const int n_least = slow ? 50 : 2;  // a run may end before it is killed
  for (int i = 0; i < (slow ? 50 : 4) || (n_killed < n_least && i < 200); ++i) {
    SetUp();
    // One to three kills between 5% and 95% of the output.
    for (size_t at = n_bytes / 20; at < n_bytes * 19 / 20;) {
      at += random() % (n_bytes * 19 / 20 - at) + 1;
      const pid_t child = start();
      wait_for(at, child);
      kill(child, SIGKILL);
      n_killed += ended(child) == 128 + SIGKILL;
      at += n_bytes / 4;
    }
    EXPECT_EQ(pando(std::string(kCommand) + "a.jsonl --resume").code, kOk);
    EXPECT_EQ(lines_of("a.jsonl"), whole) << i;
  }
  EXPECT_GE(n_killed, n_least);
  RecordProperty("killed", n_killed);
}

TEST_F(ResumeTest, ASignalFinishesWhatIsUnderWay) {
  ASSERT_EQ(pando(std::string(kCommand) + "whole.jsonl --overwrite").code, kOk);
  for (const int signal : {SIGINT, SIGTERM}) {
    const std::string finishing =
        fmt::format("pando: {}: finishing ", signal == SIGINT ? "SIGINT" : "SIGTERM");
    int code = kOk;
    std::string said;
    // Again where all answers, or those under way, were there before the signal was seen.
    for (int i = 0; i < 50 && said.find(finishing) == std::string::npos; ++i) {
      SetUp();
      const pid_t child = start();
      wait_for(1, child);
      kill(child, signal);
      code = ended(child);
      said = contents(at("stderr.txt"));
      ASSERT_TRUE(code == kOk || code == 128 + signal) << code << said;
    }
    EXPECT_EQ(code, 128 + signal);
    EXPECT_NE(said.find("run the same command with --resume to continue"), std::string::npos)
        << said;
    EXPECT_NE(said.find(finishing), std::string::npos) << said;
    EXPECT_GT(lines_of("a.jsonl").size(), 0u);
    const Finished finished = pando(std::string(kCommand) + "a.jsonl --resume");
    EXPECT_EQ(finished.code, kOk) << finished;
    EXPECT_TRUE(finished.says(" already done")) << finished;
    EXPECT_TRUE(finished.says(fmt::format("over {} answers", kQuestions / 2))) << finished;
    EXPECT_EQ(lines_of("a.jsonl"), lines_of("whole.jsonl"));
  }
}

// One answer is short; the others take minutes.
TEST_F(ResumeTest, ASecondSignalEndsAtOnce) {
  std::string input = "{\"prompt\": \"Short.\", \"max_tokens\": 1}\n";
  for (int i = 0; i < 31; ++i) input += fmt::format("{{\"prompt\": \"Long {}.\"}}\n", i);
  folder().write("long.jsonl", input);
  RandomModelOptions options;
  options.out = at("long");
  options.max_positions = 20'100;
  ASSERT_TRUE(make_random_model(options).ok());
  const pid_t child = start_command(
      "run --model long --threads 1 --kv-memory 1GiB --max-running 32 --max-tokens 20000 "
      "--ignore-eos --input long.jsonl --output a.jsonl");
  wait_for(1, child);
  kill(child, SIGTERM);
  for (int i = 0; i < 60'000; ++i) {
    if (contents(at("stderr.txt")).find("SIGTERM: finishing ") != std::string::npos) break;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  const size_t n_before = lines_of("a.jsonl").size();
  kill(child, SIGTERM);
  EXPECT_EQ(ended(child), 128 + SIGTERM);
  const std::string said = contents(at("stderr.txt"));
  EXPECT_NE(said.find(", about "), std::string::npos) << said;
  EXPECT_EQ(said.find("stopped after"), std::string::npos) << "it did not wait: " << said;
  EXPECT_GT(n_before, 0u);
  EXPECT_GE(lines_of("a.jsonl").size(), n_before) << "what was finished stays";
}

// Stops `pando score` after `delay`, and returns its words.
std::string ResumeTest::words_of_stopped_perplexity(const std::string& options,
                                                    std::chrono::milliseconds delay) {
  const pid_t child =
      start_command("score --threads 1 --perplexity squares.txt " + options + " > scored.txt");
  wait_for_handler(child);
  std::this_thread::sleep_for(delay);
  kill(child, SIGTERM);
  EXPECT_EQ(ended(child), 128 + SIGTERM);
  EXPECT_EQ(contents(at("scored.txt")), "") << "it is no result";
  const std::string said = contents(at("stderr.txt"));
  const auto says = [&](const char* part) { return said.find(part) != std::string::npos; };
  EXPECT_TRUE(says("pando: stopped after ")) << said;
  EXPECT_NE(says("stopped after 0 windows, so there is no perplexity"), says(", perplexity "))
      << said;
  EXPECT_FALSE(says("finishing")) << said;
  return said;
}

// Stops perplexities later and later, until one says `words`.
bool ResumeTest::is_said_by_stopped_perplexity(const std::string& options, const char* words) {
  for (int i = 1; i <= 20; ++i) {
    const std::string said =
        words_of_stopped_perplexity(options, std::chrono::milliseconds(50 * i));
    if (said.find(words) != std::string::npos) return true;
  }
  return false;
}

std::string squares(int n) {
  std::string text;
  for (int64_t i = 0; i < n; ++i) text += fmt::format("{} ", i * i);
  return text;
}

// Windows take seconds and a stop is seen within a tenth of one, so only a stop before the first
// step, or just behind a window, finds none under way.
TEST_F(ResumeTest, AStoppedPerplexitySaysWhatIsUnderWay) {
  folder().write("squares.txt", squares(40'000));
  RandomModelOptions options;
  options.out = at("wide");
  options.max_positions = 16'384;
  ASSERT_TRUE(make_random_model(options).ok());
  EXPECT_TRUE(
      is_said_by_stopped_perplexity("--model wide --kv-memory 64MiB --max-running 1 --step-rows 1",
                                    "; 1 window under way is not counted\n"));
}

TEST_F(ResumeTest, AStoppedPerplexityIsThatOfCompleteWindows) {
  folder().write("squares.txt", squares(200'000));
  EXPECT_TRUE(is_said_by_stopped_perplexity(
      "--model m --kv-memory 64MiB --max-running 2 --step-rows 7", ", perplexity "));
}

TEST_F(ResumeTest, WhatIsFinishedStays) {
  ASSERT_EQ(pando(std::string(kCommand) + "a.jsonl --resume").code, kOk);
  const std::string answers = contents(at("a.jsonl"));
  const Finished anew = pando(std::string(kCommand) + "a.jsonl");
  EXPECT_EQ(anew.code, kFailed) << anew;
  EXPECT_TRUE(anew.says(fmt::format("'a.jsonl' holds {} answers", kQuestions))) << anew;
  EXPECT_EQ(contents(at("a.jsonl")), answers);
  const Finished again = pando(std::string(kCommand) + "a.jsonl --resume");
  EXPECT_EQ(again.code, kOk);
  EXPECT_TRUE(again.says("is finished; lines and questions without an answer: 0\n")) << again;
  EXPECT_EQ(contents(at("a.jsonl")), answers);
  EXPECT_EQ(pando(std::string(kCommand) + "a.jsonl --overwrite --resume").code, kUsage);
  EXPECT_EQ(pando(std::string(kCommand) + "a.jsonl --overwrite").code, kOk);
  EXPECT_EQ(lines_of("a.jsonl").size(), size_t{kQuestions});
}

TEST_F(ResumeTest, OtherSettingsAreAnErrorAndLoseNothing) {
  // One answer is short; the others take minutes.
  std::string input = "{\"prompt\": \"Short.\", \"max_tokens\": 1}\n";
  for (int i = 0; i < 20'000; ++i)
    input += fmt::format("{{\"prompt\": \"Long {}.\", \"max_tokens\": 600}}\n", i);
  folder().write("slow.jsonl", input);
  std::string command = kCommand;
  command.replace(command.find("many.jsonl"), 10, "slow.jsonl");
  const pid_t child = start_command(command + "a.jsonl --resume");
  for (wait_for(1, child); n_journal_lines() < 2;)  // an answer is journalled
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  kill(child, SIGKILL);
  EXPECT_EQ(ended(child), 128 + SIGKILL);
  const auto before = lines_of("a.jsonl");
  const std::string resume = command + "a.jsonl --resume ";
  const std::pair<std::string, const char*> others[] = {
      {"--kv-dtype bf16", "kv-dtype: 'f16', now 'bf16'"},
      {"--weights q8_0", "weights: "},
      {"--seed 2", "seed: '0', now '2'"},
      {"--top-k 5", "top-k: '0', now '5'"},
      {"--instruction Answer.", "instruction: '', now 'Answer.'"}};
  for (const auto& [option, message] : others) {
    const Finished finished = pando(resume + option);
    EXPECT_EQ(finished.code, kFailed) << finished;
    EXPECT_TRUE(finished.says(message)) << finished;
  }
  std::string other = resume;
  other.replace(other.find("slow.jsonl"), 10, "other.jsonl");
  EXPECT_TRUE(pando(other).says("input: '"));
  const Finished anew = pando(command + "a.jsonl");
  EXPECT_EQ(anew.code, kFailed) << anew;
  EXPECT_TRUE(anew.says(" of an earlier run, expected an empty file")) << anew;
  EXPECT_TRUE(anew.says("--resume") && anew.says("--overwrite")) << anew;
  EXPECT_GE(lines_of("a.jsonl").size(), before.size());
  EXPECT_EQ(pando("run --model m --input many.jsonl --resume").code, kUsage);
  const Finished device = pando("run --model m --input many.jsonl --output /dev/null --resume");
  EXPECT_EQ(device.code, kUsage) << device;
  EXPECT_TRUE(device.says("--output is '/dev/null', expected a regular file")) << device;
}

}  // namespace
}  // namespace pando::testing
