// What benchmarks take, and what they are refused with.
#include "bench/inputs.h"

#include <gtest/gtest.h>

#include "model/test_files.h"

namespace pando::bench {
namespace {

TEST(Inputs, OfEveryBenchmarkAreKnown) {
  for (const BenchmarkInfo& info : benchmarks())
    EXPECT_TRUE(inputs_of(info.name).ok()) << info.name;
  EXPECT_FALSE(inputs_of("peek").ok());
}

TEST(Inputs, InWords) {
  EXPECT_EQ(in_words(inputs_of("peak").value()), "");
  EXPECT_EQ(in_words(inputs_of("compare").value()), "needs --peer, takes --model");
  EXPECT_EQ(in_words(inputs_of("hydragen-figure-5").value()), "needs --data, takes --model");
  EXPECT_EQ(in_words(inputs_of("needles").value()), "takes --data, takes --model");
}

TEST(Inputs, WhatHasNoEffectIsRefused) {
  const auto refused = [](const char* name, const Settings& settings) {
    const Status status = check_inputs(name, settings);
    EXPECT_TRUE(status.ok() || status.error().code == ErrorCode::kInvalidArgument);
    return status.ok() ? "" : status.error().message;
  };
  const std::string hint = " has no use for it (hint: `pando bench list` says which have)";
  EXPECT_EQ(refused("peak", {.model = "m"}), "--model: peak" + hint);
  EXPECT_EQ(refused("speed", {.data = "d"}), "--data: speed" + hint);
  EXPECT_EQ(refused("speed", {.peers = {"p"}}), "--peer: speed" + hint);
  EXPECT_EQ(refused("radixmlp-table-5", {.threads = 2}),
            "--threads: radixmlp-table-5 has one thread, expected no --threads");
  EXPECT_EQ(refused("compare", {}), "compare without --peer, expected --peer COMMAND");
  EXPECT_EQ(refused("speed", {.model = "m"}), "");
  EXPECT_EQ(refused("needles", {}), "") << "does without";
}

TEST(Inputs, AllFilesThatAreMissingAreNamed) {
  TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "tokenizers/qwen2.5");
  folder.write("trec-dl20-bm25-top100.jsonl.gz", "");
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  const Status status = check_inputs("reranking", {.data = folder.path()});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "no file " + path("trec-dl19-bm25-top100.jsonl.gz") +
                                        ", expected in --data by reranking");
  const Status two = check_inputs("hydragen-figure-5", {.data = folder.path() / "tokenizers"});
  ASSERT_FALSE(two.ok());
  EXPECT_EQ(two.error().message, "no file " + path("tokenizers/tokenizers/qwen2.5") + ", " +
                                     path("tokenizers/war-and-peace.txt") +
                                     ", expected in --data by hydragen-figure-5");
  EXPECT_EQ(check_inputs("hydragen-figure-5", {}).error().message,
            "hydragen-figure-5 needs tokenizers/qwen2.5, war-and-peace.txt: expected --data "
            "DIRECTORY with published data sets");
}

}  // namespace
}  // namespace pando::bench
