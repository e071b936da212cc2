#include "cli/progress_log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/process.h"

namespace pando::testing {
namespace {

using cli::ProgressLog;
using std::chrono::hours;
using std::chrono::milliseconds;

std::vector<nlohmann::json> lines_of(const std::filesystem::path& path) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(contents(path));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

BatchProgress progress() {
  BatchProgress now{.answers_done = 3, .answers_open = 2, .share_done = 0.25, .seconds = 2};
  now.seconds_left = 6;
  now.stats.arrived_tokens = 100;
  now.stats.prefill_rows = 40;
  now.stats.decode_rows = 20;
  return now;
}

TEST(ProgressLog, HasALineForEachInterval) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "log.jsonl";
  ProgressLog log(hours(1));
  ASSERT_TRUE(log.open(path).ok());
  log.update({});
  log.update(progress());  // too early
  log.end("finished", progress());
  const std::vector<nlohmann::json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["state"], "running");
  EXPECT_TRUE(lines[0]["share_done"].is_null());
  EXPECT_TRUE(lines[0]["seconds_left"].is_null());
  EXPECT_EQ(lines[0]["tokens_per_second"], 0);
  EXPECT_EQ(lines[1]["state"], "finished");
  EXPECT_EQ(lines[1]["answers"], 3);
  EXPECT_EQ(lines[1]["open"], 2);
  EXPECT_EQ(lines[1]["share_done"], 0.25);
  EXPECT_EQ(lines[1]["prompt_tokens"], 100);
  EXPECT_EQ(lines[1]["computed_tokens"], 60);
  EXPECT_EQ(lines[1]["tokens_per_second"], 30);
  EXPECT_EQ(lines[1]["seconds_left"], 6);
  EXPECT_EQ(lines[1]["time"].get<std::string>().size(), std::string("2026-01-31T12:00:00Z").size());
}

TEST(ProgressLog, GoesOnBehindWholeLines) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "log.jsonl";
  for (const size_t n_cut : {size_t{0}, size_t{1}, size_t{30}}) {
    std::filesystem::remove(path);
    for (const char* state : {"stopped", "finished"}) {
      ProgressLog log{milliseconds(0)};
      ASSERT_TRUE(log.open(path).ok());
      log.update({});
      log.update(progress());
      log.end(state, progress());
      const bool is_first = std::string_view(state) == "stopped";
      if (is_first) std::filesystem::resize_file(path, std::filesystem::file_size(path) - n_cut);
    }
    const std::vector<nlohmann::json> lines = lines_of(path);
    EXPECT_EQ(lines.size(), n_cut == 0 ? 6u : 5u);
    EXPECT_EQ(lines.back()["state"], "finished");
  }
}

TEST(ProgressLog, LosesNoOtherFile) {
  const TemporaryFolder folder;
  folder.write("notes.txt", "{\"id\": 1}\n");
  ProgressLog log;
  const Status status = log.open(folder.path() / "notes.txt");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("holds something else, expected an earlier log"),
            std::string::npos);
  EXPECT_EQ(contents(folder.path() / "notes.txt"), "{\"id\": 1}\n");
  ProgressLog nowhere;
  EXPECT_FALSE(nowhere.open(folder.path() / "none" / "log.jsonl").ok());
}

TEST(ProgressLog, ADiskThatFillsUpLeavesWholeLines) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "log.jsonl";
  ProgressLog log{milliseconds(0)};
  ASSERT_TRUE(log.open(path).ok());
  log.update(progress());
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = std::filesystem::file_size(path) + 20;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  log.update(progress());
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, before);
  EXPECT_FALSE(log.status().ok());
  log.end("finished", progress());
  const std::vector<nlohmann::json> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1]["state"], "finished");
}

TEST(ProgressLog, AFullDiskIsSaid) {
  ProgressLog log;
  ASSERT_TRUE(log.open("/dev/full").ok());
  EXPECT_TRUE(log.status().ok());
  log.update({});
  EXPECT_FALSE(log.status().ok());
}

}  // namespace
}  // namespace pando::testing
