// `pando run` and what surrounds it: exit codes, messages, files.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/gguf_writer.h"
#include "cli/process.h"
#include "text/byte_level.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3;  // src/cli/commands.h

class RunTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("good.jsonl", kThreeQuestions);
    folder().write("bad.jsonl", "{\"prompt\": \"fine\"}\nnot json\n");
    folder().write("long.jsonl",
                   "{\"prompt\": \"" + std::string(700, 'x') + "\"}\n{\"prompt\": \"fine\"}\n");
    folder().write("empty.jsonl", "");
  }

  static int64_t n_lines(const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  }
};

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

TEST_F(RunTest, MemoryForNothing) {
  const Finished finished = pando("run --model m --input good.jsonl --kv-memory 10");
  EXPECT_EQ(finished.code, kUsage) << finished;
  EXPECT_TRUE(finished.says("kv_memory is 10 bytes, expected at least one page of ")) << finished;
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
  EXPECT_TRUE(bad.says("left out: 1 bad lines, 0 failed, 0 too long")) << bad;
  EXPECT_EQ(n_lines(bad.out), 1);
  const Finished failed = run("--input long.jsonl");
  EXPECT_EQ(failed.code, kIncomplete) << failed;
  EXPECT_TRUE(failed.says("0 failed, 1 too long")) << failed;
  EXPECT_TRUE(failed.says("hint: --too-long")) << failed;
  // Where memory is the limit, cutting prompts to the context does not help.
  const Finished little =
      pando("run --model m --threads 1 --kv-memory 64KB --max-tokens 4 --input long.jsonl");
  EXPECT_TRUE(little.says("hint: a larger --kv-memory")) << little;
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
  EXPECT_TRUE(few.says("line 11: unknown field 'promt' (hint: 'prompt'?)\n")) << few;
  EXPECT_FALSE(few.says("line 12: ")) << few;
  EXPECT_TRUE(few.says(
      "and 15 more like it (hint: --verbose shows all), the last: line 26: unknown field 'promt'"))
      << few;
  EXPECT_TRUE(few.says("left out: 26 bad lines")) << few;
  const Finished all = run("--input wrong.jsonl --verbose");
  EXPECT_TRUE(all.says("line 12: ") && all.says("line 26: ")) << all;
  EXPECT_FALSE(all.says("more like it")) << all;
}

TEST_F(RunTest, EmptyInput) {
  const Finished finished = run("--input empty.jsonl --compare packed");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(finished.out, "");
  EXPECT_TRUE(finished.says("nothing to compare")) << finished;
}

TEST_F(RunTest, QuietSaysNothing) {
  const Finished finished = run("--quiet --input good.jsonl --compare packed --show 5");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(n_lines(finished.out), 3);
  EXPECT_TRUE(run("--quiet --input bad.jsonl").says("line 2")) << "problems are said all the same";
}

TEST_F(RunTest, Show) {
  const Finished finished = run("--input good.jsonl --show 2");
  EXPECT_TRUE(finished.says("[d/0] One?\n    -> \"")) << finished;
  EXPECT_TRUE(finished.says("[d/1] Two?\n    -> \"")) << finished;
  EXPECT_FALSE(finished.says("[5]")) << finished;
}

// Each takes two tokens fewer than the one before it.
TEST_F(RunTest, ShowInTheOrderOfTheInput) {
  std::string lines;
  for (int i = 0; i < 5; ++i)
    lines +=
        fmt::format("{{\"id\": \"q{}\", \"prompt\": \"P\", \"max_tokens\": {}}}\n", i, 9 - 2 * i);
  folder().write("shorter.jsonl", lines);
  const auto shown = [&](const std::string& arguments) {
    const std::string said =
        fmt::format("\n{}", run(fmt::format("--input shorter.jsonl --show 3 {}", arguments)).err);
    std::string ids;
    for (size_t at = 0; (at = said.find("\n[", at)) != std::string::npos; ++at)
      ids.append(said, at + 2, 2);
    return ids;
  };
  EXPECT_EQ(shown("--ordered"), "q0q1q2");
  EXPECT_EQ(shown("").size(), 6u) << "as they come";
}

TEST_F(RunTest, CompareFindsTheSameAnswers) {
  for (const char* sharing : {"packed", "prefix_cached", "tree"}) {
    const Finished finished =
        run(std::string("--input good.jsonl --temperature 1 --n 2 --compare ") + sharing);
    EXPECT_EQ(finished.code, kOk) << finished;
    EXPECT_TRUE(finished.says("answers identical: yes, and every bit of their logits\n"))
        << finished;
    EXPECT_TRUE(finished.says(std::string("tree over ") + sharing + ": ")) << finished;
    EXPECT_EQ(n_lines(finished.out), 6);  // of the first run only
  }
}

TEST_F(RunTest, VerboseTellsOfEvictedPlaces) {
  ASSERT_EQ(pando("make-model --shape tiny-granite --layers 2 --context 100 --out states").code,
            kOk);
  std::string lines;
  for (int i = 0; i < 60; ++i)
    lines += Json{{"prompt", fmt::format("{} a prompt", i)}}.dump() + "\n";
  folder().write("prompts.jsonl", lines);
  const Finished run = pando(
      "run --model states --input prompts.jsonl --max-tokens 3 --kv-memory 1MiB --verbose "
      "--report report.json");
  ASSERT_EQ(run.code, kOk) << run;
  const Json report = Json::parse(contents(at("report.json")))["run"];
  uint64_t n_told = 0;
  for (size_t at = 0; (at = run.err.find("evicted: ", at)) != std::string::npos; ++at) {
    const std::string line = run.err.substr(at, run.err.find('\n', at) - at);
    if (line.find(" places (states of recurrent layers), the cheapest to lose") !=
        std::string::npos)
      n_told += std::stoull(line.substr(std::string("evicted: ").size()));
  }
  EXPECT_GT(n_told, 0u) << run.err;
  EXPECT_EQ(report["engine"]["evicted_places"], n_told) << report;
}

TEST_F(RunTest, VerifyAsksAgainAlone) {
  const Finished run = pando("run --model m --input good.jsonl --output /dev/null --verify 100%");
  EXPECT_EQ(run.code, kOk) << run;
  EXPECT_NE(run.err.find("verified: 3 of 3 questions asked again, alone and unshared"),
            std::string::npos)
      << run;
  EXPECT_NE(run.err.find("all bits equal"), std::string::npos) << run;
  const Finished verify = pando("verify --model m --input good.jsonl --sample 0.1%");
  EXPECT_EQ(verify.code, kOk) << verify;
  EXPECT_NE(verify.err.find("verified: 1 of 3 questions asked again"), std::string::npos) << verify;
  EXPECT_EQ(verify.out, "");
  // Of a few questions as many as the share says, in one line or in many.
  Json line = {{"context", "A context."}};
  std::string lines;
  for (int i = 0; i < 10; ++i) {
    line["questions"].push_back(fmt::format("Question {}?", i));
    lines += Json{{"prompt", fmt::format("Prompt {}.", i)}}.dump() + "\n";
  }
  folder().write("one-line.jsonl", line.dump());
  folder().write("ten-lines.jsonl", lines);
  for (const char* input : {"one-line", "ten-lines"}) {
    const Finished ten =
        pando(fmt::format("verify --model m --max-tokens 2 --input {}.jsonl --sample 30%", input));
    EXPECT_NE(ten.err.find("verified: 3 of 10 questions asked again"), std::string::npos) << ten;
  }
  folder().write("blank.jsonl", "\nnot json\n{\"prompt\": \"A prompt.\"}\n");
  const Finished blank = pando("verify --model m --input blank.jsonl --sample 0.01%");
  EXPECT_EQ(blank.code, kIncomplete) << blank;
  EXPECT_NE(blank.err.find("verified: 1 of 1 question asked again"), std::string::npos) << blank;
  for (const char* share : {"0", "101%", "2", "some"})
    EXPECT_EQ(pando(std::string("verify --model m --input good.jsonl --sample ") + share).code,
              kUsage)
        << share;
  EXPECT_EQ(pando("verify --model m --input -").code, kUsage);
}

TEST_F(RunTest, PerplexityOfAText) {
  folder().write("text.txt", "A text of some bytes, which are its tokens.");
  const Finished finished = pando("score --model m --perplexity text.txt --window 20");
  EXPECT_EQ(finished.code, kOk) << finished;
  const Json line = Json::parse(finished.out);
  EXPECT_EQ(line["tokens"], 42);
  EXPECT_EQ(line["bytes"], 43);
  EXPECT_GT(line["perplexity"], 1);
  EXPECT_EQ(pando("score --model m --perplexity nowhere.txt").code, kFailed);
  EXPECT_EQ(pando("score --model m --perplexity empty.jsonl").code, kFailed);
  EXPECT_EQ(pando("score --model m --perplexity text.txt --window 0").code, kUsage);
  EXPECT_EQ(pando("score --model m").code, kUsage);
}

TEST_F(RunTest, PipesAreReadOnce) {
  ASSERT_EQ(std::system(("mkfifo '" + at("pipe").string() + "'").c_str()), 0);
  const Finished once = run("--input pipe", "(cat good.jsonl > pipe &) ; ");
  EXPECT_EQ(once.code, kOk) << once;
  EXPECT_EQ(n_lines(once.out), 3);
  const Finished twice = run("--input pipe --compare packed", "(cat good.jsonl > pipe &) ; ");
  EXPECT_EQ(twice.code, kUsage) << twice;
}

TEST_F(RunTest, TheReportIsJson) {
  const Finished finished =
      run("--input good.jsonl --report report.json --compare packed --kv-dtype bf16");
  EXPECT_EQ(finished.code, kOk) << finished;
  const Json report = Json::parse(contents(at("report.json")));
  for (const char* key :
       {"input", "model", "options", "run", "compared", "peak_memory_bytes", "machine", "commit"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(report["input"], "good.jsonl");
  EXPECT_EQ(report["model"]["family"], "qwen3");
  EXPECT_EQ(report["options"]["kv_dtype"], "bf16");
  EXPECT_EQ(report["options"]["kv_memory"], 64 << 20);
  EXPECT_EQ(report["options"]["context"], kTinyContext);
  for (const char* name : {"run", "compared"}) {
    const Json& run = report[name];
    for (const char* key :
         {"sharing", "lines", "answers", "tokens", "seconds", "rates", "engine", "scores"})
      EXPECT_TRUE(run.contains(key)) << key;
    EXPECT_EQ(run["lines"]["read"], 2);
    EXPECT_EQ(run["answers"]["written"], 3);
    EXPECT_EQ(run["tokens"]["generated"], 12);
    EXPECT_EQ(run["scores"]["answers"], 1);
  }
  EXPECT_EQ(report["compared"]["sharing"], "packed");
  EXPECT_EQ(report["compared"]["tokens"]["prompt_reused"], 0);
  EXPECT_GT(report["run"]["tokens"]["prompt_reused"], 10);
  EXPECT_EQ(report["run"]["combined_hash"], report["compared"]["combined_hash"]);
  run("--input good.jsonl --report report.json");
  const Json plain = Json::parse(contents(at("report.json")));
  EXPECT_FALSE(plain.contains("compared"));
  EXPECT_FALSE(plain["run"].contains("combined_hash"));
}

TEST_F(RunTest, AFullDiskIsNoSuccess) {
  for (const char* arguments :
       {"--input good.jsonl --output /dev/full", "--input good.jsonl > /dev/full",
        "--input good.jsonl --output full.jsonl --report /dev/full",
        "--quiet --input good.jsonl --output /dev/full"}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, kFailed) << arguments << ": " << finished;
    EXPECT_TRUE(finished.says("pando: cannot write")) << arguments << ": " << finished;
  }
}

TEST_F(RunTest, TheInputIsNeverOverwritten) {
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

TEST_F(RunTest, AWrongInputLeavesTheOldAnswers) {
  folder().write("old.jsonl", "old answers\n");
  EXPECT_EQ(run("--input nowhere.jsonl --output old.jsonl --overwrite").code, kFailed);
  EXPECT_EQ(contents(at("old.jsonl")), "old answers\n");
  const Finished refused = run("--input good.jsonl --output old.jsonl");
  EXPECT_EQ(refused.code, kFailed);
  EXPECT_TRUE(refused.says("'old.jsonl' holds 1 lines without a journal")) << refused;
  EXPECT_EQ(contents(at("old.jsonl")), "old answers\n");
  EXPECT_EQ(run("--input good.jsonl --output old.jsonl --overwrite").code, kOk);
  EXPECT_EQ(n_lines(contents(at("old.jsonl"))), 3);
}

TEST_F(RunTest, OutputAndReportAreTwoFiles) {
  EXPECT_EQ(run("--input good.jsonl --output both.json --report both.json").code, kUsage);
  EXPECT_EQ(run("--input good.jsonl --output /dev/null --report /dev/null").code, kOk);
}

TEST_F(RunTest, Chat) {
  folder().write("chat.jsonl",
                 "{\"context\": \"C\", \"questions\": [\"Q\"]}\n"
                 "{\"messages\": [{\"role\": \"user\", \"content\": \"Q\"}]}\n");
  const Finished plain = run("--input chat.jsonl --logits-hash");
  const Finished chat = run("--input chat.jsonl --logits-hash --chat");
  const Finished thinking = run("--input chat.jsonl --logits-hash --chat --thinking");
  for (const Finished* finished : {&plain, &chat, &thinking}) {
    EXPECT_EQ(finished->code, kOk) << *finished;
    EXPECT_EQ(n_lines(finished->out), 2) << *finished;
  }
  EXPECT_NE(plain.out, chat.out);
  EXPECT_NE(thinking.out, chat.out);

  std::filesystem::copy(at("m"), at("unknown"));
  folder().write("unknown/chat_template.jinja", "\n{{ messages|nope }}");
  const std::string unknown = "run --model unknown --threads 1 --kv-memory 64MiB --max-tokens 2 ";
  const Finished refused = pando(unknown + "--input chat.jsonl --chat");
  EXPECT_EQ(refused.code, kFailed) << refused;
  EXPECT_TRUE(
      refused.says("chat_template.jinja': chat template, line 2: no filter named 'nope' (known: "))
      << refused;
  EXPECT_EQ(pando(unknown + "--input good.jsonl").code, kOk);

  folder().write("mine.jinja", "{{ messages[0].content }}{{ strftime_now('%Y') }}");
  const std::string forced = unknown + "--input chat.jsonl --chat --chat-template ";
  EXPECT_EQ(pando(forced + "mine.jinja").code, kOk);
  EXPECT_EQ(pando(forced + "mine.jinja --date 2026-11-25").code, kOk);
  EXPECT_TRUE(pando(forced + "mine.jinja --date today").says("expected a date such as 2026-11-25"));
  const Finished other = pando(forced + "other");
  EXPECT_EQ(other.code, kUsage) << other;
  EXPECT_TRUE(other.says("'other' is neither a file nor a chat template of the model")) << other;
}

TEST_F(RunTest, NamesThatAreNoUtf8) {
  std::filesystem::copy_file(at("good.jsonl"), at("name\xff.jsonl"));
  const Finished finished = run("--input 'name\xff.jsonl' --report report.json");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_FALSE(Json::parse(contents(at("report.json"))).empty());
}

TEST_F(RunTest, MakeModelThenRun) {
  EXPECT_EQ(
      pando("make-model --shape tiny-llama --dtype f32 --layers 1 --context 100 --out made").code,
      kOk);
  const Finished finished =
      pando("run --model made --input good.jsonl --threads 1 --kv-memory 16MiB --max-tokens 2");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(n_lines(finished.out), 3);
  const std::pair<const char*, int> wrong[] = {{"--shape no-such-shape --out x", kUsage},
                                               {"--dtype f8 --out x", kUsage},
                                               {"--layers 0 --out x", kUsage},
                                               {"--tokenizer nowhere --out x", kFailed},
                                               {"--tokenizer good.jsonl --out x", kUsage},
                                               {"--out good.jsonl", kFailed}};
  for (const auto& [arguments, code] : wrong) {
    const Finished failed = pando(std::string("make-model ") + arguments);
    EXPECT_EQ(failed.code, code) << arguments << ": " << failed;
    EXPECT_TRUE(failed.err.starts_with("pando: ")) << arguments << ": " << failed;
    EXPECT_FALSE(std::filesystem::exists(at("x"))) << arguments;
  }
}

TEST_F(RunTest, VerboseTellsWhatWasShared) {
  const Finished finished = run("--input good.jsonl --verbose");
  EXPECT_TRUE(finished.says("d/1: 37 prompt tokens, 25 of them shared; 4 generated\n")) << finished;
  EXPECT_EQ(run("--input good.jsonl --verbose --quiet").code, kUsage);
}

// Each choice of several tokens takes the prompt once more where nothing is shared.
TEST_F(RunTest, NoMoreTokensAreReusedThanShared) {
  folder().write("three.jsonl", R"({"prompt": "A prompt", "choices": ["one", "two", "three"]})"
                                "\n");
  const Finished finished =
      run("--input three.jsonl --report three.json --sharing packed --compare tree --verbose");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_TRUE(finished.says("1: 8 prompt tokens, 0 of them shared; chosen from 3 texts\n"))
      << finished;
  const Json report = Json::parse(contents(at("three.json")));
  for (const char* name : {"run", "compared"}) {
    EXPECT_EQ(report[name]["tokens"]["prompt_asked"], 8) << name;
    EXPECT_EQ(report[name]["tokens"]["prompt_reused"], 0) << name;
  }
  EXPECT_GT(report["run"]["tokens"]["prompt_computed"], 24);
}

// Limits of the process count for the default of --kv-memory, and for what is said of memory.
TEST_F(RunTest, MemoryAndThreadsOfAProcess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers take terabytes of addresses";
#endif
  const std::string some = "ulimit -v 2000000; ";
  const Finished fits = pando(
      "run --model m --threads 1 --max-tokens 4 --input good.jsonl "
      "--report limited.json",
      some);
  EXPECT_EQ(fits.code, kOk) << fits;
  const Json report = Json::parse(contents(at("limited.json")));
  EXPECT_LT(report["options"]["kv_memory"], 1000000 * 1024);
  const Finished memory =
      pando("run --model m --threads 1 --input good.jsonl --kv-memory 3GB", some);
  EXPECT_EQ(memory.code, kUsage) << memory;
  EXPECT_TRUE(
      memory.says("kv_memory is 3221225472 bytes (3.0 GiB), expected at most the 2048000000 "
                  "(1.9 GiB)"))
      << memory;
  const Finished left =
      pando("run --model m --threads 1 --input good.jsonl --kv-memory 2000000000", some);
  EXPECT_EQ(left.code, kFailed) << left;
  EXPECT_TRUE(left.says("not enough memory for a kv_memory of 2000000000 bytes")) << left;
  EXPECT_TRUE(left.says(" bytes (1.9 GiB) are needed, and ") && left.says(" are available"))
      << left;
  const Finished threads = pando("run --model m --threads 64 --kv-memory 64MiB --input good.jsonl",
                                 some + "ulimit -s 131072; ");
  EXPECT_EQ(threads.code, kFailed) << threads;
  EXPECT_TRUE(threads.says("cannot start 64 threads: ") && threads.says("ulimit -v")) << threads;
}

TEST_F(RunTest, WhatIsNotThereIsSaid) {
  EXPECT_TRUE(run("--input good.jsonl --group-by level")
                  .says("no scored answer has 'level' in its metadata\n"));
  EXPECT_TRUE(run("--input empty.jsonl").says("the input has no lines\n"));
}

TEST_F(RunTest, AccuracyOfChoices) {
  folder().write("letters.jsonl",
                 "{\"prompt\": \"P\", \"choices\": [\"A\"], \"answers\": [\"A\"]}\n"
                 "{\"prompt\": \"Q\", \"choices\": [\"B\"], \"answers\": [\"A\"]}\n");
  const Finished letters = run("--input letters.jsonl --report letters.json");
  EXPECT_TRUE(letters.says(
      "\n"
      "accuracy 50.00% (standard error 50.00%), the same per character, over 2 choices\n"))
      << letters;
  const Json choice = Json::parse(contents(at("letters.json")))["run"]["scores"]["choice"];
  EXPECT_EQ(choice["answers"], 2);
  EXPECT_EQ(choice["accuracy"], 0.5);
  EXPECT_EQ(choice["standard_error"], 0.5);
  EXPECT_EQ(choice["accuracy_norm"], 0.5);
}

// Of a GGUF file that does not say how its words are cut.
TEST_F(RunTest, WarningsAboutAModelAreSaid) {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(byte_level_character(static_cast<unsigned char>(byte)));
  }
  GgufWriter writer;
  writer.string("tokenizer.ggml.model", "gpt2")
      .strings("tokenizer.ggml.tokens", tokens)
      .strings("tokenizer.ggml.merges", {})
      .uint32("tokenizer.ggml.eos_token_id", 0);
  folder().write("words.gguf", writer.bytes());
  const Finished finished = pando("tokenize --model m --tokenizer words.gguf ab");
  EXPECT_EQ(finished.out, "97 98\n") << finished;
  EXPECT_TRUE(finished.says("pando: 'words.gguf': 'tokenizer.ggml.pre' is missing")) << finished;
  EXPECT_EQ(pando("tokenize --model m ab").err, "");
}

TEST_F(RunTest, OptionsFromAFile) {
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
