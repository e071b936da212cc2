// Files of `pando run`: what is read once, and what is never lost.
#include <nlohmann/json.hpp>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
using RunFiles = RunProcess;

TEST_F(RunFiles, PipesAreReadOnce) {
  ASSERT_EQ(std::system(("mkfifo '" + at("pipe").string() + "'").c_str()), 0);
  const Finished once = run("--input pipe", "(cat good.jsonl > pipe &) ; ");
  EXPECT_EQ(once.code, kOk) << once;
  EXPECT_EQ(n_lines(once.out), 3);
  const Finished twice = run("--input pipe --compare packed", "(cat good.jsonl > pipe &) ; ");
  EXPECT_EQ(twice.code, kUsage) << twice;
}

TEST_F(RunFiles, AFullDiskIsNoSuccess) {
  for (const char* arguments :
       {"--input good.jsonl --output /dev/full", "--input good.jsonl > /dev/full",
        "--input good.jsonl --output full.jsonl --report /dev/full",
        "--quiet --input good.jsonl --output /dev/full"}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, kFailed) << arguments << ": " << finished;
    EXPECT_TRUE(finished.says("pando: cannot write")) << arguments << ": " << finished;
    EXPECT_TRUE(finished.err.ends_with(": No space left on device\n"))
        << arguments << ": " << finished;
  }
  const Finished written = run("--quiet --input good.jsonl --output /dev/full");
  EXPECT_TRUE(written.err.starts_with("pando: cannot write the output after ")) << written;
  const Finished printed = run("--quiet --input good.jsonl > /dev/full");
  EXPECT_TRUE(printed.err.starts_with("pando: cannot write the output after ")) << printed;
  EXPECT_EQ(n_lines(printed.err), 1) << printed;
  const Finished report = run("--quiet --input good.jsonl --output /dev/null --report /dev/full");
  EXPECT_EQ(report.err, "pando: cannot write report '/dev/full': No space left on device\n");
}

// Whatever the command prints, the failure is reported once.
TEST_F(RunFiles, AFullDiskIsNoSuccessOfOtherCommands) {
  for (const char* command :
       {"run --model m --input good.jsonl --dry-run", "inspect --model m --input good.jsonl",
        "tokenize --model m word", "completion bash", "--help",
        "score --model m --perplexity words.txt"}) {
    folder().write("words.txt", "Some words of a text.");
    const Finished finished = pando(std::string(command) + " > /dev/full");
    EXPECT_EQ(finished.code, kFailed) << command << ": " << finished;
    EXPECT_EQ(finished.err, "pando: cannot write to standard output: No space left on device\n")
        << command;
  }
  // More than the buffer holds.
  const Finished help = pando("run --help > /dev/full");
  EXPECT_EQ(help.code, kFailed) << help;
  EXPECT_TRUE(help.err.starts_with("pando: cannot write to standard output")) << help;
}

TEST_F(RunFiles, TheInputIsNeverOverwritten) {
  const std::string input = contents(at("good.jsonl"));
  std::filesystem::create_hard_link(at("good.jsonl"), at("link.jsonl"));
  for (const char* arguments :
       {"--input good.jsonl --output good.jsonl", "--input good.jsonl --output ./m/../good.jsonl",
        "--input good.jsonl --report good.jsonl", "--input link.jsonl --output good.jsonl"}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, kUsage) << arguments << ": " << finished;
    EXPECT_TRUE(finished.says("is the input, expected a different file to write to")) << finished;
  }
  EXPECT_EQ(contents(at("good.jsonl")), input);
}

TEST_F(RunFiles, AWrongInputLeavesTheOldAnswers) {
  folder().write("old.jsonl", "old answers\n");
  EXPECT_EQ(run("--input nowhere.jsonl --output old.jsonl --overwrite").code, kFailed);
  EXPECT_EQ(contents(at("old.jsonl")), "old answers\n");
  const Finished refused = run("--input good.jsonl --output old.jsonl");
  EXPECT_EQ(refused.code, kFailed);
  EXPECT_TRUE(refused.says("'old.jsonl' holds 1 line without a journal")) << refused;
  EXPECT_EQ(contents(at("old.jsonl")), "old answers\n");
  EXPECT_EQ(run("--input good.jsonl --output old.jsonl --overwrite").code, kOk);
  EXPECT_EQ(n_lines(contents(at("old.jsonl"))), 3);
}

TEST_F(RunFiles, OutputAndReportAreTwoFiles) {
  EXPECT_EQ(run("--input good.jsonl --output both.json --report both.json").code, kUsage);
  EXPECT_EQ(run("--input good.jsonl --output /dev/null --report /dev/null").code, kOk);
}

TEST_F(RunFiles, NamesThatAreNoUtf8) {
  std::filesystem::copy_file(at("good.jsonl"), at("name\xff.jsonl"));
  const Finished finished = run("--input 'name\xff.jsonl' --report report.json");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_FALSE(Json::parse(contents(at("report.json"))).empty());
}

TEST_F(RunFiles, OptionsFromAFile) {
  folder().write(
      "pando.toml",
      "[run]\nmodel = \"m\"\nmax-tokens = 2\nkv-memory = \"64MiB\"\n[score]\nwindow = 5\n");
  const Finished finished = pando("run --config pando.toml --input good.jsonl --quiet");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(Json::parse(finished.out.substr(0, finished.out.find('\n')))["completion_tokens"], 2);
  const Finished stands_back =
      pando("run --config pando.toml --input good.jsonl --quiet --max-tokens 3 --ignore-eos");
  EXPECT_EQ(Json::parse(stands_back.out.substr(0, stands_back.out.find('\n')))["completion_tokens"],
            3);
  folder().write("wrong.toml", "[run]\nno-such-option = 1\n");
  EXPECT_EQ(pando("run --config wrong.toml --model m --input good.jsonl").code, kUsage);
  EXPECT_EQ(pando("run --config nowhere.toml --model m --input good.jsonl").code, kUsage);
}
}  // namespace
}  // namespace pando::testing
