// `pando eval`, and the log that a run leaves.
#include <fmt/format.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/run_process.h"

namespace pando::testing {
namespace {

class EvalTest : public RunProcess {
 protected:
  static void SetUpTestSuite() {
    RunProcess::SetUpTestSuite();
    folder().write("answers.jsonl",
                   "{\"id\": 1, \"text\": \"The cat\", \"answers\": [\"cat\"], \"metadata\": "
                   "{\"kind\": \"<a & b>\"}}\n"
                   "{\"id\": 2, \"text\": \"red fox\", \"answers\": [\"red wolf\"], \"metadata\": "
                   "{\"kind\": \"c\"}}\n");
  }
};

TEST_F(EvalTest, PrintsATable) {
  const Finished finished = pando("eval answers.jsonl");
  EXPECT_EQ(finished.code, kOk) << finished;
  EXPECT_EQ(finished.err, "");
  EXPECT_EQ(finished.out,
            "score        questions    mean  standard error\n"
            "exact_match          2  50.00%          50.00%\n"
            "token_f1             2  75.00%          25.00%\n"
            "rouge_l              2  58.33%           8.33%\n");
}

TEST_F(EvalTest, PrintsGroups) {
  const Finished finished = pando("eval answers.jsonl --metric exact_match --by kind");
  EXPECT_EQ(finished.out,
            "score        group    questions     mean  standard error\n"
            "exact_match  all              2   50.00%          50.00%\n"
            "exact_match  <a & b>          1  100.00%               -\n"
            "exact_match  c                1    0.00%               -\n")
      << finished;
}

TEST_F(EvalTest, PrintsJson) {
  const Finished finished = pando("eval answers.jsonl --metric token_f1 --json");
  EXPECT_EQ(nlohmann::json::parse(finished.out), nlohmann::json::parse(R"({
    "lines": 2, "bad_lines": 0, "answers": 2, "questions": 2, "without_reference": 0,
    "scores": [{"metric": "token_f1", "statistic": "mean", "questions": 2, "value": 0.75,
                "standard_error": 0.25}]})"))
      << finished;
}

TEST_F(EvalTest, DrawsThem) {
  const std::string command = "eval answers.jsonl --metric exact_match --by kind --plot p.svg";
  EXPECT_EQ(pando(command).code, kOk);
  const std::string svg = contents(at("p.svg"));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
  EXPECT_NE(svg.find(">exact_match (&lt;a &amp; b>)</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">50.00% ± 98.00</text>"), std::string::npos) << svg;
  EXPECT_EQ(pando(command).code, kOk) << "an earlier drawing is replaced";
  folder().write("notes.txt", "Notes");
  const Finished other = pando("eval answers.jsonl --plot notes.txt");
  EXPECT_EQ(other.code, kFailed) << other;
  EXPECT_TRUE(other.says("'notes.txt' is not an SVG drawing and would be overwritten")) << other;
  EXPECT_EQ(contents(at("notes.txt")), "Notes");
}

TEST_F(EvalTest, SaysWhatIsMissing) {
  folder().write("plain.jsonl", "{\"id\": 1, \"text\": \"x\"}\n");
  const Finished none = pando("eval plain.jsonl");
  EXPECT_EQ(none.code, kFailed);
  EXPECT_EQ(none.err,
            "pando: no answer has a reference in 'answers' (hint: `pando run --with answers` "
            "writes them)\n");
  folder().write("broken.jsonl", contents(at("answers.jsonl")) + "{\"id\": 3, \"te\n{\"id\": 4}\n");
  const Finished broken = pando("eval broken.jsonl --pass-at 2 --by subject --verbose");
  EXPECT_EQ(broken.code, kIncomplete) << broken;
  EXPECT_TRUE(broken.says("pando: line 3: ")) << broken;
  EXPECT_TRUE(broken.says("pando: line 4: field 'text' is missing, expected the answer as a text\n"))
      << broken;
  EXPECT_TRUE(broken.says("pando: no pass@2: no question has 2 answers\n")) << broken;
  EXPECT_TRUE(broken.says("pando: no scored answer has 'subject'\n")) << broken;
  EXPECT_EQ(pando("eval none.jsonl").code, kFailed);
  EXPECT_EQ(pando("eval answers.jsonl --metric bleu").code, kUsage);
  EXPECT_EQ(pando("eval answers.jsonl --extract '('").code, kUsage);
  EXPECT_EQ(pando("eval").code, kUsage);
  EXPECT_EQ(pando("eval answers.jsonl --plot answers.jsonl").code, kUsage);
}

// The scores of a run and of its output, as lines and as a table.
TEST_F(EvalTest, ScoresAnOutputAsTheRunDid) {
  for (const char* output : {"out.jsonl", "out.csv", "out.tsv.gz"}) {
    const Finished run = this->run(fmt::format(
        "--input good.jsonl --output {} --overwrite --with answers --report report.json", output));
    ASSERT_EQ(run.code, kOk) << run;
    const auto report = nlohmann::json::parse(contents(at("report.json")))["run"]["scores"];
    const Finished eval = pando(fmt::format("eval {} --json", output));
    ASSERT_EQ(eval.code, kOk) << eval;
    const auto scores = nlohmann::json::parse(eval.out)["scores"];
    ASSERT_EQ(scores.size(), 3u);
    for (const auto& score : scores) {
      EXPECT_EQ(score["questions"], 1);
      EXPECT_EQ(score["value"], report[score["metric"].get<std::string>()]) << score;
    }
  }
}

std::vector<nlohmann::json> log_lines(const std::string& text) {
  EXPECT_TRUE(text.ends_with("\n")) << text;
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

TEST_F(EvalTest, ARunLogsItsProgress) {
  const Finished finished =
      run("--input good.jsonl --output logged.jsonl --progress-log log.jsonl");
  ASSERT_EQ(finished.code, kOk) << finished;
  const std::vector<nlohmann::json> lines = log_lines(contents(at("log.jsonl")));
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["state"], "running");
  EXPECT_EQ(lines[1]["state"], "finished");
  EXPECT_EQ(lines[1]["answers"], 3);
  EXPECT_EQ(lines[1]["share_done"], 1);
  const Finished other = run("--input good.jsonl --output x.jsonl --progress-log good.jsonl");
  EXPECT_EQ(other.code, kUsage) << other;
}

TEST_F(EvalTest, AKilledRunLeavesWholeLines) {
  std::string many;
  for (int i = 0; i < 20000; ++i) many += fmt::format("{{\"prompt\": \"Prompt {}\"}}\n", i);
  folder().write("many.jsonl", many);
  for (int n_runs = 1; n_runs <= 3; ++n_runs) {
    folder().write("kill.sh",
                   fmt::format("touch killed_log.jsonl\n"
                               "'{}' run --model m --threads 1 --kv-memory 64MiB --quiet --input "
                               "many.jsonl --output killed.jsonl --resume --progress-log "
                               "killed_log.jsonl &\n"
                               "for i in $(seq 3000); do\n"
                               "  [ $(wc -l < killed_log.jsonl) -ge {} ] && break; sleep 0.01\n"
                               "done\n"
                               "kill -KILL $!; wait\n",
                               PANDO_BINARY, n_runs));
    ASSERT_NE(std::system(("cd '" + folder().path().string() + "' && bash kill.sh").c_str()), -1);
    EXPECT_EQ(log_lines(contents(at("killed_log.jsonl"))).size(), static_cast<size_t>(n_runs));
  }
}

}  // namespace
}  // namespace pando::testing
