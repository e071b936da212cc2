// Runs that end early and are resumed: nothing lost, nothing twice, the same answers.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

std::string mixed_input() {
  std::string input;
  for (int i = 0; i < 40; ++i) {
    const std::string id = std::to_string(i);
    input += std::string("{\"id\": ") + id + ", \"context\": \"Context " + std::to_string(i / 4) +
             "\", \"questions\": [{\"text\": \"What?\", \"answers\": [\"x\"]}, \"Why?\"], "
             "\"temperature\": 1, \"n\": 2}\n";
    input += std::string("{\"custom_id\": \"") + id +
             "\", \"url\": \"/v1/completions\", \"body\": {\"prompt\": "
             "[\"One " +
             id + "\", \"Two\"]}}\n";
    if (i % 10 == 0) input += "not json\n";
  }
  return input;
}

BatchOptions batch_options() {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  options.defaults.logits_hash = true;
  return options;
}

std::multiset<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    const size_t created = line.find("\"created\":");  // the time of the run
    lines.insert(created == std::string::npos ? line : line.erase(created, 20));
  }
  return lines;
}

BatchSummary run(AnswerSink& output, BatchOptions options,
                 const std::string& input = mixed_input()) {
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 8;
  std::istringstream in(input);
  auto summary = run_batch(*open_tiny(engine_options), in, input.size(), output, options);
  EXPECT_TRUE(summary.ok()) << summary.error().message();
  return summary ? *summary : BatchSummary{};
}

// A run that ends after its first answers.
void stop_early(const fs::path& path) {
  std::atomic<bool> stop = false;
  BatchOptions options = batch_options();
  options.stop = &stop;
  options.on_answer = [&](const BatchAnswer&) { stop = true; };
  EXPECT_TRUE(run(**AnswerFile::create(path, {}), options).stopped);
}

// Strings of ten characters, in four tokens.
TEST(Resume, CutFormsOfEarlierRunsCount) {
  for (const char* name : {"forms.jsonl", "forms.csv"}) {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / name;
    BatchOptions options = batch_options();
    options.output = output_form(path)->format;
    options.defaults.sampling.form = {.kind = TextForm::Kind::kJsonSchema,
                                      .text = R"({"type": "string", "minLength": 10})"};
    std::string input;
    for (int i = 0; i < 30; ++i) input += fmt::format("{{\"prompt\": \"Prompt {}\"}}\n", i);
    if (options.output == OutputFormat::kJsonLines)
      input += R"({"custom_id": "a", "url": "/v1/completions", "body": {"prompt": "P", "n": 2}})";
    const uint64_t n_answers = options.output == OutputFormat::kJsonLines ? 32 : 30;
    std::atomic<bool> stop = false;
    options.stop = &stop;
    options.on_answer = [&](const BatchAnswer&) { stop = true; };
    const BatchSummary first = run(**AnswerFile::create(path, {}), options, input);
    EXPECT_EQ(first.forms_cut, first.answers);
    EXPECT_LT(first.answers, n_answers);
    stop = false;
    options.on_answer = {};
    const BatchSummary last = run(**AnswerFile::resume(path, {}), options, input);
    EXPECT_EQ(last.earlier, first.answers);
    EXPECT_EQ(last.forms_cut, n_answers);
    EXPECT_EQ(read_finished_summary((*AnswerFile::resume(path, {}))->summary())->forms_cut,
              n_answers);
  }
}

// As somebody may have edited it. It is read all the same: the form counts as not cut.
TEST(Resume, AnAnswerThatWasEditedIsRefused) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "edited.jsonl";
  BatchOptions options = batch_options();
  options.defaults.sampling.form = {.kind = TextForm::Kind::kJsonSchema,
                                    .text = R"({"type": "string", "minLength": 10})"};
  std::string input;
  for (int i = 0; i < 30; ++i) input += fmt::format("{{\"prompt\": \"Prompt {}\"}}\n", i);
  std::atomic<bool> stop = false;
  options.stop = &stop;
  options.on_answer = [&](const BatchAnswer&) { stop = true; };
  ASSERT_LT(run(**AnswerFile::create(path, {}), options, input).answers, 30u);
  std::ifstream file(path, std::ios::binary);
  std::string lines{std::istreambuf_iterator<char>(file), {}};
  const std::string reason = "\"length\"";
  ASSERT_NE(lines.find(reason), std::string::npos);
  const std::string edited =
      std::string(lines).replace(lines.find(reason), reason.size(), "       5");
  std::ofstream(path, std::ios::binary) << edited;
  EXPECT_EQ(AnswerFile::resume(path, {}).error().code, ErrorCode::kBadFile);
  std::ofstream(path, std::ios::binary) << lines;
  stop = false;
  options.on_answer = {};
  EXPECT_EQ(run(**AnswerFile::resume(path, {}), options, input).forms_cut, 30u);
}

// Stops again and again after so many answers.
TEST(Resume, StoppedRunsComeToTheSameEnd) {
  for (const bool ordered : {false, true}) {
    TemporaryFolder folder;
    BatchOptions options = batch_options();
    options.ordered = ordered;
    const fs::path whole_path = folder.path() / "whole", path = folder.path() / "parts";
    const BatchSummary whole = run(**AnswerFile::create(whole_path, {}), options);
    EXPECT_EQ(whole.answers, 40u * 6);
    EXPECT_EQ(whole.scores.all().n, 40u * 2);

    BatchSummary last;
    uint64_t n_answers = 0, n_scored = 0;
    int n_runs = 0;
    do {
      auto resumed = AnswerFile::resume(path, {});
      ASSERT_TRUE(resumed.ok()) << resumed.error().message();
      const std::unique_ptr<AnswerFile> file = std::move(*resumed);
      EXPECT_EQ(file->n_earlier(), n_answers);
      std::atomic<bool> stop = false;
      options.stop = &stop;
      int n = 0;
      options.on_answer = [&](const BatchAnswer&) { stop = ++n >= 37; };
      last = run(*file, options);
      EXPECT_EQ(last.earlier, n_runs == 0 ? 0 : n_answers);
      n_answers += last.answers;
      n_scored = last.scores.all().n;
      ++n_runs;
    } while (last.stopped);
    EXPECT_GE(n_runs, 3);
    EXPECT_EQ(n_answers, whole.answers);
    EXPECT_EQ(n_scored, whole.scores.all().n);
    EXPECT_EQ(last.scores.all().token_f1, whole.scores.all().token_f1);
    EXPECT_EQ(last.combined_hash, whole.combined_hash);
    EXPECT_EQ(lines_of(path), lines_of(whole_path));
    EXPECT_TRUE((*AnswerFile::resume(path, {}))->was_finished());
  }
}

// Four answers run at a time and eight are in the engine: of these, at a stop, those that wait are
// taken back. The first line has questions that are answered, under way, waiting and not begun.
TEST(Resume, WhatIsNotComputedYetIsTakenBack) {
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 4;
  std::string input = "{\"id\": \"d\", \"context\": \"A context.\", \"questions\": [";
  for (int i = 0; i < 12; ++i)
    input += fmt::format("{}{{\"text\": \"Question {}\"{}}}", i > 0 ? ", " : "", i,
                         i == 1 ? ", \"choices\": [\"x\"]" : "");
  input +=
      "], \"max_tokens\": 500}\n{\"custom_id\": \"o\", \"url\": \"/v1/completions\", "
      "\"body\": {\"prompt\": [\"One\", \"Two\"]}}\n";
  for (const bool ordered : {false, true}) {
    TemporaryFolder folder;
    const fs::path whole = folder.path() / "whole", path = folder.path() / "parts";
    const auto run_into = [&](const fs::path& to, const std::atomic<bool>* stop, auto on_answer) {
      BatchOptions options = batch_options();
      options.ordered = ordered;
      options.stop = stop;
      options.on_answer = on_answer;
      std::vector<uint64_t> open;
      options.on_progress = [&](const BatchProgress& now) {
        if (now.stopping) open.push_back(now.answers_done + now.answers_open);
      };
      std::istringstream in(input);
      auto file = AnswerFile::resume(to, {});
      EXPECT_TRUE(file.ok());
      const auto summary = run_batch(*open_tiny(engine_options), in, input.size(), **file, options);
      EXPECT_TRUE(summary.ok());
      return std::pair(*summary, open);
    };
    run_into(whole, nullptr, [](const BatchAnswer&) {});
    std::set<size_t> answered;
    BatchSummary stopped;
    std::vector<uint64_t> open;
    // Again where the engine had computed all eight before this thread saw the first.
    for (int i = 0; i < 20 && (i == 0 || answered.size() == 8); ++i) {
      for (const char* name : {"parts", "parts.journal"}) fs::remove(folder.path() / name);
      answered.clear();
      std::atomic<bool> stop = false;
      std::tie(stopped, open) = run_into(path, &stop, [&](const BatchAnswer& answer) {
        stop = true;  // by the question with a choice, which is no more than its prompt
        answered.insert(answer.key.question);
      });
    }
    EXPECT_TRUE(stopped.stopped);
    EXPECT_GE(answered.size(), 2u);
    EXPECT_LE(answered.size(), 7u) << "eight are in the engine";
    EXPECT_TRUE(answered.contains(1));
    ASSERT_FALSE(open.empty());
    EXPECT_EQ(open.front(), answered.size());
    EXPECT_EQ((*AnswerFile::resume(path, {}))->n_records(), answered.size());
    const auto [rest, none] = run_into(path, nullptr, [&](const BatchAnswer& answer) {
      EXPECT_FALSE(answer.key.line == 1 && answered.contains(answer.key.question));
    });
    EXPECT_EQ(rest.answers, 14 - answered.size());
    EXPECT_EQ(lines_of(path), lines_of(whole)) << ordered;
  }
}

// Eight answers are in the engine, four run, and the first of these is short.
TEST(Resume, TheTimeLeftAtAStopIsOfWhatRuns) {
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 4;
  std::string input;
  for (int i = 0; i < 20; ++i)
    input += fmt::format("{{\"prompt\": \"P{}\", \"max_tokens\": {}}}\n", i, i == 0 ? 50 : 500);
  for (const uint64_t n_bytes : {uint64_t{0}, uint64_t{input.size()}}) {
    std::atomic<bool> stop = false;
    BatchOptions options = batch_options();
    options.stop = &stop;
    options.on_answer = [&](const BatchAnswer&) { stop = true; };
    std::optional<BatchProgress> at_stop;
    options.on_progress = [&](const BatchProgress& now) {
      if (now.stopping && !at_stop) at_stop = now;
    };
    std::istringstream in(input);
    std::ostringstream out;
    ASSERT_TRUE(run_batch(*open_tiny(engine_options), in, n_bytes, out, options).ok());
    ASSERT_TRUE(at_stop);
    ASSERT_TRUE(at_stop->seconds_left) << n_bytes;
    const EngineStats& stats = at_stop->stats;
    const auto n_decoded = static_cast<double>(stats.decode_rows);
    const double decode_left = n_decoded * static_cast<double>(at_stop->answers_open) /
                               static_cast<double>(at_stop->answers_done);
    const double row_seconds =
        at_stop->seconds / static_cast<double>(stats.prefill_rows + stats.decode_rows);
    EXPECT_LE(at_stop->answers_open, 4u);
    EXPECT_LT(*at_stop->seconds_left,
              1.3 * row_seconds * (decode_left + static_cast<double>(stats.arrived_tokens)));
  }
}

TEST(Resume, AnInputThatEndsEarlierIsAnError) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "answers";
  stop_early(path);
  std::istringstream none("");
  const auto summary =
      run_batch(*open_tiny(), none, 0, **AnswerFile::resume(path, {}), batch_options());
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.error().message().find("the input ends before"), std::string::npos);
  EXPECT_FALSE((*AnswerFile::resume(path, {}))->was_finished());
}

TEST(Resume, AnotherInputIsAnError) {
  TemporaryFolder folder;
  const fs::path path = folder.path() / "answers";
  stop_early(path);
  const auto before = lines_of(path);
  std::istringstream other("{\"prompt\": \"another\"}\n");
  const auto summary =
      run_batch(*open_tiny(), other, 0, **AnswerFile::resume(path, {}), batch_options());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().message(),
            "line 1 of the input differs from the line that was answered before, expected the same "
            "input");
  EXPECT_EQ(lines_of(path), before);
}

}  // namespace
}  // namespace pando::testing
