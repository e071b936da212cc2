// `pando run` writes these: answers by the ending of their file, reports, progress to a log.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "cli/process.h"
#include "cli/progress.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kOk = 0, kFailed = 1, kUsage = 2, kIncomplete = 3;  // src/cli/exit_code.h

class OutputsTest : public ProcessTest {
 protected:
  static void SetUpTestSuite() {
    ProcessTest::SetUpTestSuite();
    folder().write("good.jsonl", kThreeQuestions);
  }
};

TEST_F(OutputsTest, TheEndingDecides) {
  ASSERT_EQ(run("--input good.jsonl --output a.csv --with question,answers").code, kOk);
  EXPECT_TRUE(contents(at("a.csv"))
                  .starts_with("id,question_id,question,text,answers,finish_reason,prompt_tokens,"
                               "completion_tokens,metadata,"
                               "more\n"));
  const Finished finished =
      run("--input good.jsonl --output a.csv --with question,answers --resume");
  EXPECT_EQ(finished.code, kOk) << finished;
  const Finished other = run("--input good.jsonl --output a.csv --resume");
  EXPECT_TRUE(other.says("with: '[\"question\",\"answers\"]', now '[]'")) << other;
  const Finished again = run("--input good.jsonl --output a.csv");
  EXPECT_TRUE(again.says(" bytes of an earlier run, expected an empty file")) << again;
  ASSERT_EQ(run("--input good.jsonl --output a.jsonl.gz").code, kOk);
  EXPECT_EQ(std::system(("gzip -t '" + at("a.jsonl.gz").string() + "'").c_str()), 0);
  for (const char* name : {"a.npy", "a.parquet", "a.csv.zst"}) {
    const Finished refused = run(std::string("--input good.jsonl --output ") + name);
    EXPECT_EQ(refused.code, kUsage) << refused;
    EXPECT_TRUE(
        refused.says("expected .jsonl, .json, .ndjson or .txt for JSON lines, or .csv or .tsv"))
        << refused;
    EXPECT_FALSE(std::filesystem::exists(at(name)));
  }
}

// Whatever is found to be wrong before the first answer.
TEST_F(OutputsTest, ARunThatCannotStartLeavesAndTakesNothing) {
  folder().write("before.jsonl", "an answer\n");
  folder().write("before.json", R"({"run": {}, "commit": "c"})");
  for (const char* wrong : {"--tokenizer nowhere", "--context 100000", "--kv-memory 1",
                            "--chat --chat-template nothing", "--schema no-such-file"}) {
    const std::string command =
        fmt::format("run --model m --threads 1 --input good.jsonl {} --output ", wrong);
    const Finished refused = pando(command + "fresh.jsonl --report fresh.json");
    EXPECT_NE(refused.code, kOk) << wrong << refused;
    for (const char* name : {"fresh.jsonl", "fresh.jsonl.journal", "fresh.json"})
      EXPECT_FALSE(std::filesystem::exists(at(name))) << wrong << name;
    pando(command + "before.jsonl --overwrite --report before.json");
    EXPECT_EQ(contents(at("before.jsonl")), "an answer\n") << wrong;
    EXPECT_EQ(contents(at("before.json")), R"({"run": {}, "commit": "c"})") << wrong;
  }
  for (const char* nowhere : {"none/fresh.jsonl", "m", "m/", ".."}) {
    const Finished refused = run(fmt::format("--input good.jsonl --output {}", nowhere));
    EXPECT_EQ(refused.code, kFailed) << refused;
    EXPECT_TRUE(refused.says(fmt::format("cannot write '{}'", nowhere))) << refused;
  }
  EXPECT_EQ(run("--input good.jsonl --output fresh.jsonl --report fresh.json").code, kOk);
  EXPECT_EQ(run("--input good.jsonl --output fresh.jsonl").code, kFailed);
}

TEST_F(OutputsTest, TablesComeBackWithTheirColumns) {
  folder().write("in.csv", "Nr,Q,Doc,level\n7,What?,\"A, b.\",easy\n");
  ASSERT_EQ(run("--input in.csv --columns id=Nr,question=Q,context=Doc --output out.tsv").code,
            kOk);
  const std::string table = contents(at("out.tsv"));
  EXPECT_TRUE(
      table.starts_with("id\tquestion_id\ttext\tfinish_reason\tprompt_tokens\t"
                        "completion_tokens\tlevel\tmore\n7\t"))
      << table;
  EXPECT_TRUE(table.ends_with("\teasy\t\n")) << table;
  EXPECT_TRUE(
      run("--input in.csv --columns Q").says("'Q', expected NAME=COLUMN such as question=Q"));
  EXPECT_TRUE(run("--input in.csv --columns a=Q,b=Q").says("'b' or 'Q' appears twice"));
}

TEST_F(OutputsTest, PackedTablesAreTables) {
  folder().write("in2.csv", "prompt\nA prompt.\n");
  ASSERT_EQ(std::system(("gzip -kf '" + at("in2.csv").string() + "'").c_str()), 0);
  const Finished plain = run("--input in2.csv"), packed = run("--input in2.csv.gz");
  EXPECT_EQ(plain.code, kOk) << plain;
  EXPECT_EQ(packed.out, plain.out);
}

TEST_F(OutputsTest, AReportReplacesNothingButAReport) {
  for (const char* text : {"my notes\n", "[1, 2]\n", "{\"run\": {}}\n"}) {
    folder().write("notes.json", text);
    const Finished refused = run("--input good.jsonl --report notes.json");
    EXPECT_EQ(refused.code, kFailed) << refused;
    EXPECT_TRUE(refused.says("--report: 'notes.json' is not a report")) << refused;
    EXPECT_EQ(contents(at("notes.json")), text);
  }
  folder().write("notes.json", "");
  EXPECT_EQ(run("--input good.jsonl --report notes.json").code, kOk);
  EXPECT_EQ(run("--input good.jsonl --report notes.json --n 2").code, kOk);
  const Json report = Json::parse(contents(at("notes.json")));
  EXPECT_EQ(report["model"]["name"], "m");
  EXPECT_TRUE(report["date"].get<std::string>().ends_with("Z"));
  EXPECT_EQ(report["template"], "{context}\n\nQuestion: {question}\nAnswer:");
  EXPECT_EQ(report["settings"]["max-tokens"], "4");
  EXPECT_EQ(report["run"]["questions"], 3);
  EXPECT_EQ(report["run"]["answers"]["written"], 6);
}

TEST_F(OutputsTest, AFinishedRunStillHasItsScoresAndReport) {
  const std::string command =
      "--input good.jsonl --output done.jsonl --group-by k --report done.json";
  const Finished first = run(command);
  ASSERT_EQ(first.code, kOk) << first;
  const Json before = Json::parse(contents(at("done.json")));
  std::filesystem::remove(at("done.json"));
  const Finished again = run(command + " --resume");
  EXPECT_EQ(again.code, kOk) << again;
  EXPECT_TRUE(again.says("is finished; lines and questions without an answer: 0\n")) << again;
  EXPECT_TRUE(again.says("exact match")) << again;
  const Json after = Json::parse(contents(at("done.json")));
  EXPECT_EQ(after["run"]["scores"], before["run"]["scores"]);
  EXPECT_EQ(after["run"]["lines"], before["run"]["lines"]);
  EXPECT_EQ(after["run"]["answers"]["earlier"], 3);
  // Only its own report knows what the run took.
  for (const char* figure : {"questions", "tokens", "seconds", "rates", "engine"}) {
    EXPECT_TRUE(before["run"].contains(figure)) << figure;
    EXPECT_FALSE(after["run"].contains(figure)) << figure;
  }
  EXPECT_FALSE(after.contains("peak_memory_bytes"));
  const Finished other = run("--input good.jsonl --output done.jsonl --group-by x --resume");
  EXPECT_TRUE(other.says("scores are grouped by 'k', as in the finished run")) << other;
}

TEST_F(OutputsTest, TheReportOfAFinishedRunStays) {
  const std::string command = "--input good.jsonl --output kept.jsonl --report kept.json";
  const std::string left = "'kept.json' is the report of this run and stays as it is\n";
  ASSERT_EQ(run(command).code, kOk);
  const std::string report = contents(at("kept.json"));
  const Finished again = run(command + " --resume");
  EXPECT_EQ(again.code, kOk) << again;
  EXPECT_TRUE(again.says(left)) << again;
  EXPECT_TRUE(again.says("exact match")) << again;
  EXPECT_EQ(contents(at("kept.json")), report);
  // Reports of another output, of other settings and of a part of the run are replaced.
  const auto replaced = [&](auto change) {
    Json other = Json::parse(report);
    change(other);
    folder().write("kept.json", other.dump());
    const Finished resumed = run(command + " --resume");
    EXPECT_EQ(resumed.code, kOk) << resumed;
    EXPECT_FALSE(resumed.says(left)) << resumed;
    return !Json::parse(contents(at("kept.json")))["run"].contains("seconds");
  };
  EXPECT_TRUE(replaced([](Json& json) { json["output"] = "other.jsonl"; }));
  EXPECT_TRUE(replaced([](Json& json) { json["settings"]["seed"] = "7"; }));
  EXPECT_TRUE(replaced([](Json& json) { json["run"]["answers"]["stopped"] = true; }));
  EXPECT_TRUE(replaced([](Json& json) { json["run"]["scores"]["answers"] = 2; }));
  // The report leaves out what the resuming process does not know of the run.
  const Json substitute = Json::parse(contents(at("kept.json")));
  EXPECT_EQ(substitute["run"]["scores"], Json::parse(report)["run"]["scores"]);
  for (const char* name : {"options", "machine", "peak_memory_bytes"}) {
    EXPECT_TRUE(Json::parse(report).contains(name)) << name;
    EXPECT_FALSE(substitute.contains(name)) << name;
  }
  // These are no reports.
  for (const char* other :
       {R"({"run": {"answers": [], "seconds": {}}, "commit": "a"})",
        R"({"run": [], "commit": "a"})", R"({"run": {"seconds": {}}, "commit": "a"})"}) {
    folder().write("kept.json", other);
    const Finished refused = run(command + " --resume");
    EXPECT_EQ(refused.code, kFailed) << refused;
    EXPECT_TRUE(refused.says("'kept.json' is not a report")) << refused;
    EXPECT_EQ(contents(at("kept.json")), other);
  }
}

TEST_F(OutputsTest, FewAnswersAtATimeAreTheSameAnswers) {
  const Finished many = run("--input good.jsonl --ordered"),
                 one = run("--input good.jsonl --ordered --max-running 1");
  EXPECT_EQ(one.code, kOk) << one;
  EXPECT_EQ(one.out, many.out);
}

TEST_F(OutputsTest, VerifyingCountsWhatHasNoAnswer) {
  folder().write("bad.jsonl", std::string(kThreeQuestions) + "not json\n{\"prompt\": \"" +
                                  std::string(700, 'x') + "\"}\n");
  const Finished verified = pando(
      "verify --model m --threads 1 --kv-memory 64MiB --max-tokens 4 --input bad.jsonl --sample "
      "100%");
  EXPECT_EQ(verified.code, kIncomplete) << verified;
  EXPECT_TRUE(verified.says("all bits equal; not verified: 1 bad line, 1 question")) << verified;
}

TEST_F(OutputsTest, RankingsForTrecAreJsonLines) {
  folder().write("rank.jsonl", "{\"query\": \"Q\", \"documents\": [\"a\", \"b\"]}\n");
  const std::string rerank =
      "rerank --model m --threads 1 --kv-memory 64MiB --template '{document}|{query}:' "
      "--input rank.jsonl --output ";
  const Finished refused = pando(rerank + "ranks.csv --trec-run t.txt");
  EXPECT_EQ(refused.code, kUsage) << refused;
  EXPECT_TRUE(refused.says("'ranks.csv' is not a JSON lines file")) << refused;
  const Finished ranked = pando(rerank + "ranks.jsonl");
  EXPECT_EQ(ranked.code, kOk) << ranked;
  EXPECT_TRUE(ranked.says("p(yes) + p(no): mean ")) << ranked;
  folder().write("notes.txt", "my notes\n");
  const Finished lost = pando(rerank + "ranks.jsonl --resume --trec-run notes.txt");
  EXPECT_EQ(lost.code, kFailed) << lost;
  EXPECT_TRUE(lost.says("'notes.txt' is not a TREC run")) << lost;
  EXPECT_EQ(contents(at("notes.txt")), "my notes\n");
  for (int i = 0; i < 2; ++i)  // of an earlier run it takes the place
    EXPECT_EQ(pando(rerank + "ranks.jsonl --resume --trec-run t.txt").code, kOk);
  const Json line = Json::parse(contents(at("ranks.jsonl")));
  const double mass = line["results"][0]["mass"];
  EXPECT_TRUE(mass > 0 && mass <= 1) << mass;
}

TEST_F(OutputsTest, InspectPredictsTime) {
  const Finished said = pando("inspect m --input good.jsonl --time --threads 1 --kv-memory 64MiB",
                              "XDG_CACHE_HOME=\"$PWD\" ");
  EXPECT_EQ(said.code, kOk) << said;
  EXPECT_NE(said.out.find("time on this machine: about "), std::string::npos) << said;
  EXPECT_NE(said.out.find("of it attention"), std::string::npos) << said;
}

// Standard error of a test is no terminal, or there is nothing to see here.
TEST(Progress, GoesToALogNowAndThen) {
  if (isatty(STDERR_FILENO) != 0) GTEST_SKIP() << "standard error is a terminal";
  ::testing::internal::CaptureStderr();
  cli::ProgressLine never(/*quiet=*/false, "answers", std::chrono::hours(1));
  for (int i = 0; i < 3; ++i) never.show("too early");
  never.clear();
  cli::ProgressLine(/*quiet=*/true, "answers", std::chrono::milliseconds(0)).show("quiet");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");

  // After each interval one line, however slow the machine is.
  constexpr std::chrono::milliseconds kEvery{50};
  ::testing::internal::CaptureStderr();
  const auto start = std::chrono::steady_clock::now();
  cli::ProgressLine progress(/*quiet=*/false, "answers", kEvery);
  std::this_thread::sleep_for(kEvery);
  for (int i = 0; i < 3; ++i) progress.show("10 answers");
  progress.clear();
  const auto n_intervals = (std::chrono::steady_clock::now() - start) / kEvery;
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(said.starts_with("pando: 10 answers\n")) << said;
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), n_intervals) << said;
}

}  // namespace
}  // namespace pando::testing
