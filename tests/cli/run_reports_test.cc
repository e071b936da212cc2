// `pando run` reports these of its answers: scores, counters, comparisons, checks.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
using RunReports = RunProcess;

TEST_F(RunReports, Show) {
  const Finished finished = run("--input good.jsonl --show 2");
  EXPECT_TRUE(finished.says("[d/0] One?\n    -> \"")) << finished;
  EXPECT_TRUE(finished.says("[d/1] Two?\n    -> \"")) << finished;
  EXPECT_FALSE(finished.says("[5]")) << finished;
}

// Each takes two tokens fewer than the one before it.
TEST_F(RunReports, ShowInTheOrderOfTheInput) {
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

TEST_F(RunReports, CompareFindsTheSameAnswers) {
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

TEST_F(RunReports, VerboseTellsOfEvictedPlaces) {
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
    if (line.find(" (states of recurrent layers), those that cost least to recompute") !=
        std::string::npos)
      n_told += std::stoull(line.substr(std::string("evicted: ").size()));
  }
  EXPECT_GT(n_told, 0u) << run.err;
  EXPECT_EQ(report["engine"]["evicted_places"], n_told) << report;
}

TEST_F(RunReports, VerboseTellsWhatWasShared) {
  const Finished finished = run("--input good.jsonl --verbose");
  EXPECT_TRUE(finished.says("d/1: 37 prompt tokens, 25 of them shared; 4 generated\n")) << finished;
  EXPECT_EQ(run("--input good.jsonl --verbose --quiet").code, kUsage);
}

TEST_F(RunReports, VerifyAsksAgainAlone) {
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
  // Even of a few questions the share is kept, in one line or in many.
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

TEST_F(RunReports, TheReportIsJson) {
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

// Each choice of several tokens takes the prompt once more where nothing is shared.
TEST_F(RunReports, NoMoreTokensAreReusedThanShared) {
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

TEST_F(RunReports, WhatIsNotThereIsSaid) {
  EXPECT_TRUE(run("--input good.jsonl --group-by level")
                  .says("no scored answer has 'level' in its metadata\n"));
  EXPECT_TRUE(run("--input empty.jsonl").says("pando: the input has no lines\n"));
}

TEST_F(RunReports, AccuracyOfChoices) {
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
// A string of ten characters takes more than four tokens.
TEST_F(RunReports, FormsThatAreCutAreCounted) {
  folder().write("ten.json", R"({"type": "string", "minLength": 10})");
  folder().write("forms.jsonl",
                 "{\"prompt\": \"P\"}\n{\"prompt\": \"Q\", \"schema\": {\"const\": true}}\n"
                 "{\"custom_id\": \"a\", \"url\": \"/v1/completions\", \"body\": {\"prompt\": "
                 "\"P\", \"max_tokens\": 3}}\n");
  const std::string forms = "--input forms.jsonl --schema ten.json --report forms.report.json ";
  const Finished cut = run(forms + "--output forms.out.jsonl");
  EXPECT_EQ(cut.code, kOk) << "they are answers: " << cut;
  const std::string said = "stopped by the length limit: 2 answers with a form\n";
  EXPECT_TRUE(cut.says(said)) << cut;
  EXPECT_EQ(Json::parse(contents(at("forms.report.json")))["run"]["answers"]["forms_cut"], 2);
  // A run that is finished knows it still.
  const Finished again = run(forms + "--output forms.out.jsonl --resume");
  EXPECT_TRUE(again.says(said)) << again;
  EXPECT_EQ(Json::parse(contents(at("forms.report.json")))["run"]["answers"]["forms_cut"], 2);
  const Finished whole = run("--input forms.jsonl --schema ten.json --max-tokens 100");
  EXPECT_FALSE(whole.says("stopped by the length limit")) << whole;
}

TEST_F(RunReports, ObjectsThatAreNoSchemaAreToldOf) {
  const auto with = [&](const std::string& schema) {
    folder().write("given.json", schema);
    return run("--input good.jsonl --schema given.json");
  };
  for (const char* any : {R"({"foo": 1})", "{}"})
    EXPECT_TRUE(
        with(any).says("pando: --schema: the schema has no keyword that constrains the answer: any "
                       "JSON fits it\n"));
  EXPECT_FALSE(with(R"({"type": "string"})").says("keyword"));
  const Finished wrapped = with(R"({"name": "s", "schema": {"type": "object"}})");
  EXPECT_EQ(wrapped.code, kUsage) << wrapped;
  EXPECT_TRUE(wrapped.says("its field 'schema' holds one, expected only the schema\n")) << wrapped;
  folder().write("own.jsonl", R"({"prompt": "P", "schema": {"foo": 1}})"
                              "\n"
                              R"({"prompt": "P", "schema": {"enum": [1]}})"
                              "\n");
  const Finished own = run("--input own.jsonl");
  EXPECT_TRUE(own.says("pando: line 1: the schema has no keyword that constrains the answer"))
      << own;
  EXPECT_FALSE(own.says("line 2")) << own;
}

}  // namespace
}  // namespace pando::testing
