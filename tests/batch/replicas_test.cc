// A batch over replicas gives the answers, counts and messages of one process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <set>
#include <sstream>

#include "batch/replica_threads.h"
#include "model/test_files.h"
#include "pando/batch.h"
#include "pando/make_model.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

const fs::path& model_path() {
  static const TemporaryFolder folder;
  static const fs::path path = [] {
    const RandomModelOptions options{
        .shape = "tiny-qwen2", .out = folder.path() / "model", .seed = 5, .max_positions = 640};
    if (Status status = make_random_model(options); !status)
      throw std::runtime_error(status.error().message());
    return options.out;
  }();
  return path;
}

BatchOptions batch_options() {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  options.defaults.logits_hash = true;
  return options;
}

EngineOptions engine_options() {
  EngineOptions options;
  options.threads = 1;
  options.kv_memory = size_t{16} << 20;
  options.max_running = 8;
  return options;
}

std::string document(int i) { return fmt::format("{} {}", i, std::string(280, 'a' + i % 20)); }

// Documents with questions, rows about one document, prompts with many answers, requests of an
// OpenAI batch, what cannot be read and what is too long.
std::string mixed_input() {
  std::string input;
  for (int i = 0; i < 12; ++i) {
    input += fmt::format(
        R"({{"id": {}, "context": "{}", "questions": [{{"text": "What?", "answers": ["x"]}}, "Why?",)"
        R"( {{"text": "Who?", "choices": ["he", "she"], "answers": ["he"]}}]}})"
        "\n",
        i, document(i));
    input += fmt::format(R"({{"context": "{}", "question": "Where {}?"}})"
                         "\n",
                         document(i / 4), i);
    input += fmt::format(R"({{"prompt": "Prompt {}", "n": 3, "temperature": 1, "logprobs": true}})"
                         "\n",
                         i);
    input += fmt::format(R"({{"custom_id": "{}", "url": "/v1/completions", "body": )"
                         R"({{"prompt": ["One {}", "Two"]}}}})"
                         "\n",
                         i, i);
    if (i % 5 == 0) input += "not json\n";
    if (i % 6 == 0) input += R"({"prompt": ")" + std::string(700, 'l') + "\"}\n";
  }
  return input;
}

std::string without_times(std::string line) {
  const size_t created = line.find("\"created\":");  // the time of the run
  return created == std::string::npos ? line : line.erase(created, 20);
}

struct Ran {
  BatchSummary summary;
  uint64_t own_requests = 0;  // of the engine of rank 0
  std::vector<std::string> lines;
  std::multiset<std::string> problems;

  std::multiset<std::string> sorted() const { return {lines.begin(), lines.end()}; }
};

Ran run_over(const std::shared_ptr<const Model>& model, const BatchOptions& given, AnswerSink* sink,
             std::stringbuf& input) {
  Ran ran;
  BatchOptions options = given;
  options.on_problem = [&](const std::string& message) { ran.problems.insert(message); };
  const auto engine = Engine::open(model, engine_options());
  EXPECT_TRUE(engine.ok()) << engine.error().message();
  std::istream in(&input);
  std::ostringstream out;
  AnswerStream stream(out);
  const auto summary =
      run_batch(**engine, in, input.view().size(), sink != nullptr ? *sink : stream, options);
  EXPECT_TRUE(summary.ok()) << summary.error().message();
  if (summary) ran.summary = *summary;
  ran.own_requests = (*engine)->stats().requests;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) ran.lines.push_back(without_times(line));
  return ran;
}

Ran run_with(const std::shared_ptr<const Model>& model, const BatchOptions& given,
             AnswerSink* sink = nullptr, const std::string& input = mixed_input()) {
  std::stringbuf text(input, std::ios::in);
  return run_over(model, given, sink, text);
}

// parallel: empty for one process.
Ran run(const std::string& parallel, const BatchOptions& options = batch_options(),
        AnswerSink* sink = nullptr) {
  if (parallel.empty())
    return run_with(Model::load(model_path(), {.threads = 1}).value(), options, sink);
  ReplicaThreads processes(parallel, [](int) { return model_path(); });
  return run_with(processes.load(model_path()).value(), options, sink);
}

TEST(Replicas, AnswersAndCountsAreThoseOfOneProcess) {
  const Ran one = run("");
  EXPECT_EQ(one.summary.bad_lines, 3u);
  EXPECT_EQ(one.summary.too_long, 2u);
  ASSERT_NE(one.summary.combined_hash, 0u);
  for (const char* parallel :
       {"replicas=1", "replicas=2", "replicas=3", "replicas=2,tp=2", "spp=2,replicas=2"}) {
    const Ran many = run(parallel);
    EXPECT_EQ(many.sorted(), one.sorted()) << parallel;
    EXPECT_EQ(many.problems, one.problems) << parallel;
    const BatchSummary &a = many.summary, &b = one.summary;
    EXPECT_EQ(a.lines, b.lines) << parallel;
    EXPECT_EQ(a.bad_lines, b.bad_lines) << parallel;
    EXPECT_EQ(a.questions, b.questions) << parallel;
    EXPECT_EQ(a.answers, b.answers) << parallel;
    EXPECT_EQ(a.failed, b.failed) << parallel;
    EXPECT_EQ(a.too_long, b.too_long) << parallel;
    EXPECT_EQ(a.prompt_tokens, b.prompt_tokens) << parallel;
    EXPECT_EQ(a.combined_hash, b.combined_hash) << parallel;
    EXPECT_EQ(a.scores.to_json(), b.scores.to_json()) << parallel;
    EXPECT_EQ(a.stats.requests, b.stats.requests) << parallel;
    EXPECT_EQ(a.stats.generated_tokens, b.stats.generated_tokens) << parallel;
  }
}

TEST(Replicas, OrderIsThatOfTheInput) {
  BatchOptions options = batch_options();
  options.ordered = true;
  const Ran one = run("", options);
  for (const char* parallel : {"replicas=2", "replicas=3"})
    EXPECT_EQ(run(parallel, options).lines, one.lines) << parallel;
}

// Text that says when all of it was read.
class ReadText : public std::stringbuf {
 public:
  explicit ReadText(const std::string& text) : std::stringbuf(text, std::ios::in) {}
  void wait_until_read() const { is_read_.wait(false); }

 private:
  int_type underflow() override {
    const int_type next = std::stringbuf::underflow();
    if (next == traits_type::eof()) {
      is_read_ = true;
      is_read_.notify_all();
    }
    return next;
  }
  std::atomic<bool> is_read_ = false;
};

// One replica computes, once, what the questions of a document share. No answer is taken before all
// lines were read, so that documents of a late round find the load of those before it.
TEST(Replicas, DocumentsStayWhole) {
  std::string input;
  for (int i = 0; i < 5; ++i)  // in one round, or with beginnings that are worth more than a lead
    for (int row = 0; row < 6; ++row)
      input += fmt::format("{{\"context\": \"{}{}\", \"question\": \"{}?\"}}\n", document(i),
                           document(i), row);
  const Ran one =
      run_with(Model::load(model_path(), {.threads = 1}).value(), batch_options(), nullptr, input);
  ReplicaThreads processes("replicas=2", [](int) { return model_path(); });
  ReadText text(input);
  BatchOptions options = batch_options();
  options.on_answer = [&](const BatchAnswer&) { text.wait_until_read(); };
  const Ran two = run_over(processes.load(model_path()).value(), options, nullptr, text);
  EXPECT_EQ(one.lines.size(), 30u);
  EXPECT_EQ(two.sorted(), one.sorted());
  EXPECT_LT(two.summary.stats.prefill_rows, one.summary.stats.prefill_rows + 280);
  EXPECT_GE(two.own_requests, two.summary.stats.requests / 4);
  EXPECT_LE(two.own_requests, two.summary.stats.requests * 3 / 4);
}

TEST(Replicas, OtherTasksUseThemToo) {
  for (const auto& [task, input] :
       {std::pair(BatchTask::kEmbed, R"({"text": "Some text."})"
                                     "\n"
                                     R"({"text": "Other text."})"
                                     "\n"),
        std::pair(BatchTask::kScore, R"({"prompt": "A", "continuations": [" b", " cd"]})"
                                     "\n"
                                     R"({"prompt": "B", "continuations": [" b", " cd"]})"
                                     "\n")}) {
    BatchOptions options;
    options.task = task;
    const Ran one =
        run_with(Model::load(model_path(), {.threads = 1}).value(), options, nullptr, input);
    ReplicaThreads processes("replicas=2", [](int) { return model_path(); });
    const Ran two = run_with(processes.load(model_path()).value(), options, nullptr, input);
    EXPECT_EQ(one.lines.size(), 2u);
    EXPECT_EQ(two.sorted(), one.sorted());
  }
}

// Several runs, one after another, over the same ranks.
TEST(Replicas, EnginesAreOpenedAgain) {
  const Ran one = run("");
  ReplicaThreads processes("replicas=2", [](int) { return model_path(); });
  const auto model = processes.load(model_path()).value();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run_with(model, batch_options()).sorted(), one.sorted());
}

std::multiset<std::string> lines_of(const fs::path& path) {
  std::ifstream file(path);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(without_times(line));
  return lines;
}

// Each part of the run is stopped at its first answer, and goes on over other ranks.
TEST(Replicas, StoppedRunsGoOnOverAnotherNumber) {
  const Ran whole = run("");
  for (const bool ordered : {false, true}) {
    const TemporaryFolder folder;
    const fs::path path = folder.path() / "answers.jsonl";
    std::atomic<bool> stop = false;
    BatchOptions options = batch_options();
    options.ordered = ordered;
    options.stop = &stop;
    options.on_answer = [&](const BatchAnswer&) { stop = true; };
    int n_stopped = 0;
    for (const char* parallel : {"replicas=2", "", "replicas=3", "replicas=2,tp=2"}) {
      stop = false;
      n_stopped +=
          run(parallel, options, AnswerFile::resume(path, {}).value().get()).summary.stopped;
    }
    EXPECT_GE(n_stopped, 2);
    const Ran last = run("replicas=2", batch_options(), AnswerFile::resume(path, {}).value().get());
    EXPECT_FALSE(last.summary.stopped);
    EXPECT_GT(last.summary.earlier, 0u);
    EXPECT_EQ(last.summary.answers + last.summary.earlier, whole.summary.answers);
    EXPECT_EQ(last.summary.combined_hash, whole.summary.combined_hash);
    EXPECT_EQ(lines_of(path), whole.sorted());
  }
}

TEST(Replicas, AnErrorOfTheRunEndsIt) {
  ReplicaThreads processes("replicas=2", [](int) { return model_path(); });
  const auto model = processes.load(model_path()).value();
  const auto engine = Engine::open(model, engine_options()).value();
  struct FailingSink : AnswerSink {
    void append(const AnswerRecord&, const std::string&) override { has_lines = true; }
    Status commit() override {
      return has_lines ? Status(Error{ErrorCode::kIo, "full"}) : Status();
    }
    bool has_lines = false;
  } sink;
  std::istringstream in(mixed_input());
  const auto summary = run_batch(*engine, in, 0, sink, batch_options());
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().message(), "full");
}

// The weights are equal; what text they stand for is not.
TEST(Replicas, AllHaveTheSameFiles) {
  const TemporaryFolder folder;
  const fs::path other = folder.path() / "model";
  fs::copy(model_path(), other);
  std::ofstream(other / "tokenizer_config.json") << "{ }";
  ReplicaThreads processes("replicas=2", [&](int) { return other; });
  const auto model = processes.load(model_path());
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().message(),
            "rank 1 has other model files than rank 0, expected the same on all ranks");
}

TEST(Replicas, ARankWithoutItsModelIsNamed) {
  ReplicaThreads processes(
      "replicas=2,tp=2", [&](int rank) { return rank == 3 ? fs::path("nowhere") : model_path(); });
  const auto model = processes.load(model_path());
  ASSERT_FALSE(model.ok());
  EXPECT_TRUE(model.error().message().starts_with("rank 3: ")) << model.error().message();
}

}  // namespace
}  // namespace pando::testing
