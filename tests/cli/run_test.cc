// `pando run` and what surrounds it: exit codes, messages, options.
#include <fmt/format.h>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

using RunTest = RunProcess;

TEST_F(RunTest, HelpAndVersion) {
  for (const char* arguments :
       {"--help", "run --help", "verify --help", "score --help", "make-model --help"}) {
    const Finished finished = pando(arguments);
    EXPECT_EQ(finished.code, kOk);
    EXPECT_FALSE(finished.out.empty());
    EXPECT_EQ(finished.err, "");
  }
  for (const char* option : {"--model", "--input", "--output", "--sharing", "--compare", "--report",
                             "--too-long", "--chat"})
    EXPECT_NE(pando("run --help").out.find(option), std::string::npos) << option;
  const Finished version = pando("--version");
  EXPECT_EQ(version.code, kOk);
  EXPECT_TRUE(version.out.starts_with("pando 0.")) << version;
}

TEST_F(RunTest, WrongUsage) {
  for (const char* arguments : {"",
                                "no-such-command",
                                "run",
                                "run --model m",
                                "make-model",
                                "run --model m --input good.jsonl --no-such-option",
                                "run --model m --input good.jsonl extra",
                                "run --model m --input good.jsonl --sharing magic",
                                "run --model m --input good.jsonl --max-tokens 0",
                                "run --model m --input good.jsonl --max-running 0",
                                "run --model '' --input good.jsonl",
                                "run --model m --input good.jsonl --seed -1",
                                "run --model m --input good.jsonl --thinking",
                                "run --model m --input good.jsonl --choice yes --choice no --n 2",
                                "run --model m --input good.jsonl --max-tokens many",
                                "run --model m --input good.jsonl --top-p 2",
                                "run --model m --input good.jsonl --temperature -1",
                                "run --model m --input good.jsonl --temperature inf",
                                "run --model m --input good.jsonl --presence-penalty nan",
                                "run --model m --input good.jsonl --kv-memory 1XB",
                                "run --model m --input good.jsonl --context 100000",
                                "run --model m --input - --compare packed"}) {
    const Finished finished = pando(arguments);
    EXPECT_EQ(finished.code, kUsage) << arguments << ": " << finished;
    EXPECT_NE(finished.err, "") << arguments;
    EXPECT_EQ(finished.out, "") << arguments;
  }
}

// As in a line's list of choices.
TEST_F(RunTest, OneChoiceIsAnAnswer) {
  folder().write("one.jsonl", R"({"id": "a", "prompt": "P", "choices": ["yes"]})"
                              "\n");
  folder().write("none.jsonl", R"({"id": "a", "prompt": "P"})"
                               "\n");
  const Finished of_line = run("--input one.jsonl");
  EXPECT_EQ(of_line.code, kOk) << of_line;
  EXPECT_NE(of_line.out.find(R"("text":"yes")"), std::string::npos) << of_line;
  EXPECT_EQ(run("--input none.jsonl --choice yes").out, of_line.out);
}

TEST_F(RunTest, WhatIsNotThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"run --model nowhere --input good.jsonl", "nowhere"},
      {"run --model good.jsonl --input good.jsonl", "good.jsonl"},
      {"run --model m --input nowhere.jsonl", "cannot read input 'nowhere.jsonl'"},
      {"run --model m --input m", "input 'm' is a directory, expected a file"},
      {"run --model m --input good.jsonl --output no/such/folder.jsonl",
       "cannot write 'no/such/folder.jsonl'"},
      {"run --model m --input good.jsonl --output m", "cannot write 'm'"},
      {"run --model m --input good.jsonl --report no/such/report.json",
       "cannot write 'no/such/report.json'"},
      {"run --model m --input good.jsonl --tokenizer nowhere", "nowhere"},
  };
  for (const auto& [arguments, message] : cases) {
    const Finished finished = pando(arguments);
    EXPECT_EQ(finished.code, kFailed) << arguments << ": " << finished;
    EXPECT_TRUE(finished.err.starts_with("pando: ") && finished.says(message))
        << arguments << ": " << finished;
    EXPECT_EQ(n_lines(finished.err), 1) << arguments << ": " << finished;
    EXPECT_EQ(finished.out, "") << arguments;
  }
}

TEST_F(RunTest, AnswersGoToAFileOrToStandardOutput) {
  const Finished to_file = run("--input good.jsonl --output answers.jsonl --overwrite");
  EXPECT_EQ(to_file.code, kOk) << to_file;
  EXPECT_EQ(to_file.out, "");
  EXPECT_TRUE(to_file.says("tree: 3 answers in ")) << to_file;
  EXPECT_TRUE(to_file.says("over 1 answer\n")) << to_file;
  const std::string answers = contents(at("answers.jsonl"));
  EXPECT_EQ(n_lines(answers), 3);
  for (const char* arguments : {"--input good.jsonl", "--input good.jsonl --output -"})
    EXPECT_EQ(run(arguments).out, answers);
  EXPECT_EQ(run("--input - < good.jsonl").out, answers);
  EXPECT_EQ(run("--input -", "cat good.jsonl | ").out, answers);
}

TEST_F(RunTest, SomeLinesLeftOut) {
  const Finished bad = run("--input bad.jsonl");
  EXPECT_EQ(bad.code, kIncomplete) << bad;
  EXPECT_TRUE(bad.says("pando: line 2: not JSON")) << bad;
  EXPECT_TRUE(bad.says("not answered: 1 bad line, 0 failed, 0 too long; lines shortened to fit: 0"))
      << bad;
  EXPECT_EQ(n_lines(bad.out), 1);
  const Finished failed = run("--input long.jsonl");
  EXPECT_EQ(failed.code, kIncomplete) << failed;
  EXPECT_TRUE(failed.says("0 failed, 1 too long")) << failed;
  const Finished skipped = run("--input long.jsonl --too-long skip");
  EXPECT_EQ(skipped.code, kOk) << skipped;
  EXPECT_TRUE(skipped.says("0 failed, 1 too long")) << skipped;
}

TEST_F(RunTest, WhatManyLinesHaveInCommonIsCounted) {
  std::string lines = "{\"prompt\": 5}\n";
  for (int i = 0; i < 25; ++i) lines += "{\"promt\": \"P\"}\n";
  folder().write("wrong.jsonl", lines);
  const Finished few = run("--input wrong.jsonl");
  EXPECT_EQ(few.code, kIncomplete) << few;
  EXPECT_TRUE(few.says("line 1: field 'prompt' is 5")) << few;
  EXPECT_TRUE(few.says("line 11: field 'promt' is unknown (hint: 'prompt'?)\n")) << few;
  EXPECT_FALSE(few.says("line 12: ")) << few;
  EXPECT_TRUE(few.says("and 15 more like it, the last: line 26: field 'promt' is unknown")) << few;
  EXPECT_TRUE(few.says("not answered: 26 bad lines")) << few;
  const Finished all = run("--input wrong.jsonl --verbose");
  EXPECT_TRUE(all.says("line 12: ") && all.says("line 26: ")) << all;
  EXPECT_FALSE(all.says("more like it")) << all;
}

TEST_F(RunTest, EmptyInput) {
  folder().write("blank.jsonl", "\n  \n\r\n");
  folder().write("names.csv", "id,prompt\n");
  for (const auto& [input, message] : {std::pair{"empty.jsonl", "pando: the input has no lines\n"},
                                       {"blank.jsonl", "pando: the input has no lines\n"},
                                       {"names.csv", "pando: the input has no rows\n"}}) {
    const std::string options = fmt::format("--input {} --quiet", input);
    const Finished finished = run(options), dry = run(options + " --dry-run");
    EXPECT_EQ(finished.code, kOk) << finished;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(finished.err, message);
    EXPECT_EQ(dry.code, kOk) << dry;
    EXPECT_EQ(dry.out, "");
    EXPECT_EQ(dry.err, message);
    const Finished inspected = pando(fmt::format("inspect m --input {}", input));
    EXPECT_EQ(inspected.code, kOk) << inspected;
    EXPECT_EQ(inspected.err, message);
    const Finished verified = pando(fmt::format("verify --model m --quiet --input {}", input));
    EXPECT_EQ(verified.code, kFailed) << verified;
    EXPECT_EQ(verified.err,
              std::string(message) + "pando: nothing was verified, expected at least one answer\n");
    const Finished compared = run(options + " --compare packed");
    EXPECT_EQ(compared.code, kFailed) << compared;
    EXPECT_EQ(compared.err, std::string(message) + "nothing to compare: no answers\n");
  }
}

TEST_F(RunTest, QuietSaysNothing) {
  const Finished finished = run("--quiet --input good.jsonl --compare packed");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(finished.err, "answers identical: yes, and every bit of their logits\n");
  EXPECT_EQ(n_lines(finished.out), 3);
  EXPECT_EQ(run("--quiet --input good.jsonl").err, "");
  EXPECT_TRUE(run("--quiet --input good.jsonl --output /dev/null --verify 100%")
                  .err.starts_with("verified: 3 of 3 questions asked again"));
  EXPECT_TRUE(run("--quiet --input bad.jsonl").says("line 2")) << "problems are said all the same";
}

TEST_F(RunTest, Completion) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Finished finished = pando(std::string("completion ") + shell);
    EXPECT_EQ(finished.code, kOk);
    for (const char* word : {"run", "inspect", "resume"})
      EXPECT_NE(finished.out.find(word), std::string::npos) << shell << ' ' << word;
  }
  EXPECT_EQ(pando("completion tcsh").code, kUsage);
}
}  // namespace
}  // namespace pando::testing
