// A process that is killed half-way through a write to its journal.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include "base/fault.h"
#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

std::string input() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += std::string("{\"id\": ") + std::to_string(i) + ", \"prompt\": \"Prompt " +
            std::to_string(i % 7) + "\"}\n";
  return text;
}

Result<BatchSummary> answer(AnswerSink& output, int kill_after) {
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 4;
  std::istringstream in(input());
  BatchOptions options;
  options.defaults.sampling.max_tokens = 3;
  int n = 0;
  options.on_answer = [&](const BatchAnswer&) {
    if (++n == kill_after) active_fault = Fault::kKilledInJournal;
  };
  return run_batch(*open_tiny(engine_options), in, 0, output, options);
}

std::multiset<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

// Each process gets a little further.
TEST(JournalFault, KilledInTheJournalAgainAndAgain) {
  TemporaryFolder folder;
  const fs::path whole = folder.path() / "whole", path = folder.path() / "killed";
  int n_killed = 0;
  for (bool done = false; !done && n_killed < 50;) {
    const pid_t child = fork();  // before this process has threads
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto file = AnswerFile::resume(path, {});
      _exit(file.ok() && answer(**file, 5).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    done = WIFEXITED(status);
    if (done) {
      EXPECT_EQ(WEXITSTATUS(status), 0);
    } else {
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
      ++n_killed;
    }
  }
  EXPECT_GE(n_killed, 3);
  ASSERT_TRUE(answer(**AnswerFile::create(whole, {}), 0).ok());
  EXPECT_EQ(lines_of(path), lines_of(whole));
  EXPECT_EQ(lines_of(whole).size(), 60u);
}

}  // namespace
}  // namespace pando::testing
