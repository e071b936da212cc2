// Inputs that benchmarks take, and messages that refuse others.
#include "bench/inputs.h"

#include <gtest/gtest.h>

#include "bench/registry.h"
#include "model/test_files.h"

namespace pando::bench {
namespace {

// Benchmarks with inputs that none of the product's own takes.
class InputsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto run = [](Harness&) {};
    add_benchmarks(
        {{{"files", "", {.model = true, .files = {"folder/one", "two.txt"}}}, run},
         {{"optional", "", {.model = true, .files = {"two.txt"}, .files_optional = true}}, run},
         {{"one-thread", "", {.threads = false}}, run}});
  }
};

TEST_F(InputsTest, AddedBenchmarksStandBehindTheProducts) {
  EXPECT_STREQ(benchmarks().front().name, "speed");
  EXPECT_STREQ(benchmarks().back().name, "one-thread");
  EXPECT_FALSE(inputs_of("peek").ok());
}

TEST_F(InputsTest, InWords) {
  EXPECT_EQ(in_words(inputs_of("peak").value()), "");
  EXPECT_EQ(in_words(inputs_of("compare").value()), "needs --peer, takes --model");
  EXPECT_EQ(in_words(inputs_of("gpu").value()), "takes --device");
  EXPECT_EQ(in_words(inputs_of("files").value()), "needs --data, takes --model");
  EXPECT_EQ(in_words(inputs_of("optional").value()), "takes --data, takes --model");
}

TEST_F(InputsTest, WhatHasNoEffectIsRefused) {
  const auto refused = [](const char* name, const Settings& settings) {
    const Status status = check_inputs(name, settings);
    EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalidArgument);
    return status.ok() ? "" : status.error().message();
  };
  const std::string useless = " has no use for it";
  EXPECT_EQ(refused("peak", {.model = "m"}), "--model: peak" + useless);
  EXPECT_EQ(refused("peak", {.device = "cuda"}), "--device: peak" + useless);
  EXPECT_EQ(refused("speed", {.data = "d"}), "--data: speed" + useless);
  EXPECT_EQ(refused("speed", {.peers = {"p"}}), "--peer: speed" + useless);
  EXPECT_EQ(refused("one-thread", {.threads = 2}),
            "--threads: one-thread has one thread, expected no --threads");
  EXPECT_EQ(refused("compare", {}), "compare without --peer, expected --peer COMMAND");
  EXPECT_EQ(refused("speed", {.model = "m"}), "");
  EXPECT_EQ(refused("optional", {}), "") << "does without";
}

TEST_F(InputsTest, AllFilesThatAreMissingAreNamed) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "folder/one");
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Status status = check_inputs("files", {.data = folder.path()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message(), "no file " + path("two.txt") + ", expected in --data by files");
  const Status two = check_inputs("files", {.data = folder.path() / "folder"});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().message(), "no file " + path("folder/folder/one") + ", " +
                                     path("folder/two.txt") + ", expected in --data by files");
  EXPECT_EQ(check_inputs("files", {}).error().message(),
            "files needs folder/one, two.txt: expected --data DIRECTORY with published data sets");
}

}  // namespace
}  // namespace pando::bench
