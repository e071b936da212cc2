// Batches of texts to embed, documents to rank and continuations to score, against the task itself.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>
#include <tuple>

#include "batch/line_parser.h"
#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"
#include "pando/make_model.h"
#include "pando/score.h"

namespace pando::testing {
namespace {

using Json = nlohmann::ordered_json;

struct Ran {
  BatchSummary summary;
  std::vector<Json> lines;
  std::vector<std::string> problems;
};

Ran run(BatchTask task, const std::string& input, BatchOptions options = {},
        const EngineOptions& engine_options = tiny_options()) {
  Ran ran;
  std::istringstream in(input);
  std::ostringstream out;
  options.task = task;
  options.ordered = true;
  options.on_problem = [&](const std::string& message) { ran.problems.push_back(message); };
  const auto summary = run_batch(*open_tiny(engine_options), in, input.size(), out, options);
  if (!summary) throw std::runtime_error(summary.error().message());
  ran.summary = *summary;
  std::istringstream lines(out.str());
  for (std::string line; std::getline(lines, line);) ran.lines.push_back(Json::parse(line));
  return ran;
}

// Returns the message that refuses the first line.
std::string refused(BatchTask task, const std::string& line) {
  const Ran ran = run(task, line + "\n");
  return ran.problems.size() == 1 && ran.lines.empty() ? ran.problems[0] : "";
}

TEST(EmbedLines, AreTheTasksVectors) {
  BatchOptions options;
  options.embed.pooling = Pooling::kMean;
  const Ran ran = run(BatchTask::kEmbed,
                      R"({"id": "a", "text": "One text", "metadata": {"k": 1}}
{"text": "Another", "instruction": "Find"}
{"tokens": [79, 110, 101]}
)",
                      options);
  ASSERT_EQ(ran.lines.size(), 3u);
  EXPECT_EQ(ran.lines[0]["id"], "a");
  EXPECT_EQ(ran.lines[0]["metadata"], Json::parse(R"({"k": 1})"));
  EXPECT_EQ(ran.lines[0]["prompt_tokens"], 8);
  EXPECT_EQ(ran.lines[1]["id"], "2");
  const auto vectors =
      embed(*open_tiny(), {"One text", "Instruct: Find\nQuery:Another", "One"}, options.embed);
  ASSERT_TRUE(vectors.ok());
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(ran.lines[i]["embedding"].get<std::vector<float>>(), (*vectors)[i]);
}

TEST(EmbedLines, NameWhatIsWrong) {
  const auto error = [](const char* line) { return refused(BatchTask::kEmbed, line); };
  EXPECT_EQ(error(R"({"id": 1})"),
            R"(line 1: the line has {"id":1}, expected either 'text' or 'tokens')");
  EXPECT_EQ(error(R"({"text": ""})"), "line 1: the text is empty, expected at least one token");
  EXPECT_EQ(error(R"({"text": "T", "questions": []})"),
            "line 1: field 'questions' is unknown, expected id, text, tokens, instruction, "
            "input_type, metadata");
  EXPECT_EQ(error("null"), "line 1: the line is null, expected an object");
  EXPECT_EQ(error(R"({"tokens": []})"), "line 1: the text is empty, expected at least one token");
  EXPECT_EQ(error(R"({"tokens": [5], "instruction": "I"})"),
            "line 1: field 'instruction' needs 'text', which the line does not have");
  BatchOptions options;
  options.embed.prompt_template = "{text}";
  const Ran ran = run(BatchTask::kEmbed, "{\"text\": \"T\", \"instruction\": \"I\"}\n", options);
  ASSERT_EQ(ran.problems.size(), 1u);
  EXPECT_EQ(ran.problems[0],
            "line 1: the template is '{text}', expected {instruction} and {text} in it");
}

constexpr const char* kQueries =
    R"({"id": "q1", "query": "What is an aspen?", "documents": ["A tree.", {"id": "d7", "text": "A car."}, {"id": 8, "text": "A root system."}]}
{"id": 2, "query": "What is an oak?", "documents": ["A tree."], "instruction": "Look"}
)";

TEST(RerankLines, AreTheTasksScoresTheHighestFirst) {
  const Ran ran = run(BatchTask::kRerank, kQueries);
  ASSERT_EQ(ran.lines.size(), 2u);
  const std::vector<std::string> documents = {"A tree.", "A car.", "A root system."};
  const auto scores = rerank(*open_tiny(), "What is an aspen?", documents);
  ASSERT_TRUE(scores.ok());
  const std::vector<size_t> order = ranking(*scores);
  const Json ids = {nullptr, "d7", 8};
  for (size_t rank = 0; rank < 3; ++rank) {
    const Json& result = ran.lines[0]["results"][rank];
    EXPECT_EQ(result["index"], order[rank]);
    EXPECT_EQ(result.value("id", Json()), ids[order[rank]]);
    EXPECT_EQ(result["score"].get<double>(), (*scores)[order[rank]]);
  }
  RerankOptions look;
  look.instruction = "Look";
  EXPECT_EQ(ran.lines[1]["results"][0]["score"].get<double>(),
            (*rerank(*open_tiny(), "What is an oak?", {"A tree."}, look))[0]);
  EXPECT_EQ(ran.summary.answers, 4u);
}

// Yes and no are a token each, and a pair one request.
TEST(RerankLines, OfSingleTokensAreTheTasksScoresToo) {
  BatchOptions options;
  options.rerank.prompt_template = "{document}|{query}:";
  options.rerank.yes = "y";
  options.rerank.no = "n";
  EngineOptions packed = tiny_options();
  packed.sharing = "packed";
  const Ran ran = run(BatchTask::kRerank, kQueries, options, packed);
  ASSERT_EQ(ran.lines.size(), 2u);
  const std::vector<std::string> documents = {"A tree.", "A car.", "A root system."};
  for (const Json& result : ran.lines[0]["results"]) {
    const std::string& document = documents[result["index"].get<size_t>()];
    const auto of = score(*open_tiny(), document + "|What is an aspen?:", {"y", "n"});
    ASSERT_TRUE(of.ok());
    EXPECT_EQ(result["score"].get<double>(), share_of_yes((*of)[0].logprob, (*of)[1].logprob));
  }
  EXPECT_EQ(ran.lines[0]["results"].size(), 3u);
  EXPECT_EQ(ran.summary.stats.prefill_rows, ran.lines[0]["prompt_tokens"].get<uint64_t>() +
                                                ran.lines[1]["prompt_tokens"].get<uint64_t>());
}

TEST(RerankLines, TheFirstFewOnly) {
  BatchOptions options;
  options.top = 2;
  const Ran all = run(BatchTask::kRerank, kQueries),
            few = run(BatchTask::kRerank, kQueries, options);
  ASSERT_EQ(few.lines[0]["results"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(few.lines[0]["results"][i], all.lines[0]["results"][i]);
  EXPECT_EQ(few.lines[1]["results"].size(), 1u);
}

TEST(RerankLines, NameWhatIsWrong) {
  const auto error = [](const char* line) { return refused(BatchTask::kRerank, line); };
  EXPECT_EQ(error(R"({"query": "Q"})"), "line 1: the line has no 'documents'");
  EXPECT_EQ(error(R"({"query": "Q", "documents": []})"),
            "line 1: field 'documents' is [], expected a non-empty list");
  EXPECT_EQ(error(R"({"query": "Q", "documents": [5]})"),
            "line 1: document 0 is 5, expected a string or an object");
  EXPECT_EQ(error(R"({"query": "Q", "documents": ["D", {"id": 1}]})"),
            "line 1: document 1 has no 'text'");
  EXPECT_EQ(error(R"({"query": "Q", "documents": ["D", {"content": "E"}]})"),
            "line 1: field 'documents[1].content' is unknown, expected id, text");
}

TEST(RerankLines, OneDocumentThatIsTooLongFailsItsQuery) {
  const std::string input = fmt::format(
      "{{\"query\": \"Q\", \"documents\": [\"D\", \"{}\"]}}\n"
      "{{\"query\": \"Q\", \"documents\": [\"D\"]}}\n",
      std::string(1000, 'x'));
  const Ran ran = run(BatchTask::kRerank, input);
  EXPECT_EQ(ran.summary.failed, 1u);
  ASSERT_EQ(ran.lines.size(), 1u);
  EXPECT_EQ(ran.lines[0]["id"], "2");
  BatchOptions options;
  options.too_long = TooLong::kTruncateMiddle;
  const Ran cut = run(BatchTask::kRerank, input, options);
  EXPECT_EQ(cut.summary.cut, 1u);
  EXPECT_EQ(cut.lines.size(), 2u);
}

TEST(ScoreLines, AreTheTasksScores) {
  const Ran ran =
      run(BatchTask::kScore,
          R"({"id": "s", "prompt": "The sky is", "continuations": [" blue", " a", "!"], "target": 1}
{"doc_id": 5, "doc": {"any": 1}, "target": "0", "arguments": {"gen_args_0": {"arg_0": "The sky is", "arg_1": " blue"}, "gen_args_1": {"arg_0": "The sky is", "arg_1": " a"}}}
{"doc_id": 6, "arguments": [["A sky", " blue"], ["The sky is", " a"]], "target": " a"}
)");
  ASSERT_EQ(ran.lines.size(), 3u) << (ran.problems.empty() ? "" : ran.problems[0]);
  const auto scores = score(*open_tiny(), "The sky is", {" blue", " a", "!"}),
             other = score(*open_tiny(), "A sky", {" blue"});
  ASSERT_TRUE(scores.ok() && other.ok());
  for (size_t i = 0; i < 3; ++i) {
    const Json& of = ran.lines[0]["scores"][i];
    EXPECT_EQ(of["logprob"].get<double>(), (*scores)[i].logprob);
    EXPECT_EQ(of["tokens"], (*scores)[i].n_tokens);
    EXPECT_EQ(of["likeliest"], (*scores)[i].likeliest);
  }
  EXPECT_EQ(ran.lines[1]["id"], 5);
  EXPECT_EQ(ran.lines[1]["scores"][0], ran.lines[0]["scores"][0]);
  EXPECT_EQ(ran.lines[1]["scores"][1], ran.lines[0]["scores"][1]);
  EXPECT_EQ(ran.lines[2]["scores"][0]["logprob"].get<double>(), (*other)[0].logprob);
  EXPECT_EQ(ran.lines[2]["scores"][1], ran.lines[0]["scores"][1]);

  double n_right = 0;  // targets: 1, 0, 1
  n_right += ran.lines[0]["best"] == 1;
  n_right += ran.lines[1]["best"] == 0;
  n_right += ran.lines[2]["best"] == 1;
  EXPECT_EQ(ran.summary.scores.all().n_choices, 3u);
  EXPECT_DOUBLE_EQ(ran.summary.scores.all().choice_accuracy, n_right / 3);
  const auto per_byte = [&](size_t i, double bytes) { return (*scores)[i].logprob / bytes; };
  EXPECT_EQ(ran.lines[1]["best_per_byte"], per_byte(0, 4) >= per_byte(1, 1) ? 0 : 1);
}

TEST(ScoreLines, ATargetIsATextBeforeItIsAnIndex) {
  const Ran ran = run(BatchTask::kScore,
                      R"({"prompt": "P", "continuations": ["1", "0"], "target": "1"}
{"prompt": "P", "continuations": ["1", "0"], "target": 1}
)");
  ASSERT_EQ(ran.lines.size(), 2u);
  EXPECT_EQ(ran.lines[0]["best"], ran.lines[1]["best"]);
  EXPECT_DOUBLE_EQ(ran.summary.scores.all().choice_accuracy, 0.5);  // one of them is right
}

TEST(ScoreLines, NameWhatIsWrong) {
  const auto error = [](const char* line) { return refused(BatchTask::kScore, line); };
  EXPECT_EQ(error(R"({"prompt": "P"})"), "line 1: the line has no 'continuations'");
  EXPECT_EQ(error(R"({"continuations": ["a"]})"), "line 1: the line has no 'prompt'");
  EXPECT_EQ(error(R"({"prompt": "P", "continuations": ["a", ""]})"),
            "line 1: continuation 1 is empty, expected at least one character");
  EXPECT_EQ(error(R"({"arguments": [["a", "b"], ["c", ""]]})"),
            "line 1: field 'arguments' has an empty continuation in pair 1, expected at least one "
            "character");
  EXPECT_EQ(error(R"({"prompt": "P", "continuations": "a"})"),
            "line 1: field 'continuations' is \"a\", expected a list of strings");
  EXPECT_EQ(error(R"({"prompt": "P", "continuations": ["a", "b"], "target": 2})"),
            "line 1: field 'target' is 2, expected an index below 2 or a continuation");
  EXPECT_EQ(error(R"({"arguments": 5})"),
            "line 1: field 'arguments' is 5, expected a list or an object");
  EXPECT_EQ(
      error(R"({"arguments": [["a", "b"], ["a"]]})"),
      "line 1: field 'arguments' has [\"a\"] as entry 1, expected a prompt and its continuation");
  EXPECT_EQ(error(R"({"arguments": [["a", 5]]})"),
            "line 1: field 'arguments' has 5 in pair 0, expected two strings");
  EXPECT_EQ(error(R"({"arguments": {"a": {}}})"),
            "line 1: field 'arguments' has 1 entry but no 'gen_args_0', expected a pair for each "
            "of gen_args_0, gen_args_1, ...");
  EXPECT_EQ(error(R"({"prompt": "P", "choices": ["a"]})"),
            "line 1: field 'choices' is unknown, expected id, prompt, continuations, target, "
            "metadata");
}

// An engine whose tokenizer has a normalizer. Null, and a failure, where it cannot be made.
std::unique_ptr<Engine> open_normalized(TemporaryFolder& folder, const Json& normalizer) {
  RandomModelOptions made;
  made.shape = "tiny-qwen3";
  made.out = folder.path() / "m";
  made.max_positions = kTinyContext;
  EXPECT_TRUE(make_random_model(made).ok());
  std::ifstream in(made.out / "tokenizer.json");
  Json tokenizer = Json::parse(in);
  tokenizer["normalizer"] = normalizer;
  folder.write("m/tokenizer.json", tokenizer.dump());
  const auto model = Model::load(made.out);
  EXPECT_TRUE(model.ok()) << model.error().message();
  if (!model) return nullptr;
  auto engine = Engine::open(*model, tiny_options());
  EXPECT_TRUE(engine.ok()) << engine.error().message();
  return engine ? std::move(*engine) : nullptr;
}

TEST(TaskLines, ContinuationsThatChangeThePromptAreNamed) {
  TemporaryFolder folder;
  const auto engine = open_normalized(
      folder, {{"type", "Replace"}, {"pattern", {{"String", "ab"}}}, {"content", "x"}});
  ASSERT_NE(engine, nullptr);
  std::vector<std::string> problems;
  BatchOptions options;
  options.task = BatchTask::kScore;
  options.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
  std::istringstream input("{\"prompt\": \"a\", \"continuations\": [\"bc\"]}\n");
  std::ostringstream out;
  ASSERT_TRUE(run_batch(*engine, input, 0, out, options).ok());
  EXPECT_EQ(problems,
            std::vector<std::string>{
                "line 1: the continuations change the first token of the prompt, expected at least "
                "one token before them that stays the same"});
}

TEST(TaskLines, APairWhoseContinuationAddsNoTokenIsNamed) {
  TemporaryFolder folder;
  const auto engine =
      open_normalized(folder, {{"type", "Strip"}, {"strip_left", false}, {"strip_right", true}});
  ASSERT_NE(engine, nullptr);
  std::vector<std::string> problems;
  BatchOptions options;
  options.task = BatchTask::kScore;
  options.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
  std::istringstream input(
      "{\"arguments\": [[\"a\", \"b\"], [\"c\", \" \"]]}\n"
      "{\"arguments\": [[\"a\", \"b\"], [\"a\", \" \"]]}\n"
      "{\"prompt\": \"a\", \"continuations\": [\"b\", \" \"]}\n");
  std::ostringstream out;
  ASSERT_TRUE(run_batch(*engine, input, 0, out, options).ok());
  ASSERT_EQ(problems.size(), 3u);
  std::ranges::sort(problems);
  for (const int line : {1, 2})
    EXPECT_EQ(problems[line - 1],
              fmt::format("line {}: field 'arguments' has in pair 1 a continuation that adds no "
                          "token after the prompt, expected at least one",
                          line));
  EXPECT_EQ(problems[2],
            "line 3: continuation 1 adds no token after the prompt, expected at least one");
}

TEST(TaskLines, TheSameHashesSharedOrNotInPiecesAndResumed) {
  const std::pair<BatchTask, std::string> inputs[] = {
      {BatchTask::kRerank, kQueries},
      {BatchTask::kEmbed, "{\"text\": \"One text\"}\n{\"text\": \"One\"}\n"},
      {BatchTask::kScore,
       "{\"prompt\": \"P is\", \"continuations\": [\" a\", \" b\"], \"target\": 0}\n"
       "{\"prompt\": \"P was\", \"continuations\": [\" a\", \" b\"], \"target\": 1}\n"}};
  for (const auto& [task, input] : inputs) {
    BatchOptions options;
    options.defaults.logits_hash = true;
    EngineOptions pieces = tiny_options(), packed = tiny_options();
    pieces.step_rows = 9;
    packed.sharing = "packed";
    const Ran whole = run(task, input, options);
    EXPECT_NE(whole.summary.combined_hash, 0u);
    for (const EngineOptions& other : {pieces, packed}) {
      const Ran ran = run(task, input, options, other);
      EXPECT_EQ(ran.lines, whole.lines);
      EXPECT_EQ(ran.summary.combined_hash, whole.summary.combined_hash);
    }
    // The first line, and then the rest.
    const TemporaryFolder folder;
    const auto path = folder.path() / "out.jsonl";
    options.task = task;
    std::atomic<bool> stop = false;
    options.on_answer = [&](const BatchAnswer&) { stop = true; };
    options.stop = &stop;
    EngineOptions one = tiny_options();
    one.max_running = 1;
    for (const bool resumed : {false, true}) {
      auto file = resumed ? AnswerFile::resume(path, {{"task", "t"}})
                          : AnswerFile::create(path, {{"task", "t"}});
      ASSERT_TRUE(file.ok());
      std::istringstream in(input);
      if (resumed) options.stop = nullptr;
      const auto summary = run_batch(*open_tiny(one), in, input.size(), **file, options);
      ASSERT_TRUE(summary.ok()) << summary.error().message();
      if (!resumed) continue;
      EXPECT_EQ(summary->combined_hash, whole.summary.combined_hash);
      EXPECT_EQ(summary->scores.all().n, whole.summary.scores.all().n);
      EXPECT_EQ(summary->scores.all().choice_accuracy, whole.summary.scores.all().choice_accuracy);
    }
  }
}

// A line of these takes many requests and is written as a whole: at a stop all of a line under way
// is to finish, and nothing of the others.
TEST(TaskLines, WhatIsToFinishAtAStopIsWritten) {
  std::string documents, continuations;
  for (int i = 0; i < 1000; ++i) {
    documents += fmt::format("{}\"Text {}\"", i > 0 ? ", " : "", i);
    continuations += fmt::format("{}\"x{}\"", i > 0 ? ", " : "", i);
  }
  const std::tuple<BatchTask, std::string, uint64_t> tasks[] = {
      {BatchTask::kRerank, "\"query\": \"q\", \"documents\": [" + documents, 1000},
      {BatchTask::kScore, "\"prompt\": \"p\", \"continuations\": [" + continuations, 1}};
  EngineOptions engine_options = tiny_options();
  engine_options.max_running = 1;
  for (const auto& [task, fields, n_answers] : tasks) {
    const std::string line = "{" + fields + "]}\n";
    std::string lines;
    for (int i = 0; i < 20; ++i) lines += line;
    std::istringstream in(lines);
    std::ostringstream out;
    const std::unique_ptr<Engine> engine = open_tiny(engine_options);
    std::atomic<bool> stop = false, is_over = false;
    std::optional<BatchProgress> at_stop;
    BatchOptions options;
    options.task = task;
    options.stop = &stop;
    options.on_progress = [&](const BatchProgress& now) {
      if (now.stopping && !at_stop) at_stop = now;
    };
    std::thread stopper([&] {
      while (engine->stats().prefill_rows == 0 && !is_over)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      stop = true;
    });
    const auto summary = run_batch(*engine, in, lines.size(), out, options);
    is_over = true;
    stopper.join();
    ASSERT_TRUE(summary.ok()) << summary.error().message();
    ASSERT_TRUE(at_stop);
    EXPECT_TRUE(summary->stopped);
    const auto n_written = static_cast<uint64_t>(std::ranges::count(out.str(), '\n'));
    EXPECT_GT(n_written, 0u);
    EXPECT_EQ(summary->answers, n_written * n_answers);
    EXPECT_EQ(at_stop->answers_done + at_stop->answers_open, summary->answers);
  }
}

// A line that an earlier run answered has to be found again; others must differ from it.
TEST(LineParserTest, IdsOfAnsweredLinesAreNotRefused) {
  BatchOptions options{.task = BatchTask::kRerank, .trec_ids = true};
  LineParser parser(*tiny_model(), kTinyContext, options);
  const auto is_taken = [&](const std::string& id, bool was_answered) {
    const std::string text = fmt::format(R"({{"id": "{}", "query": "q", "documents": ["d"]}})", id);
    return parser.parse({.text = text, .line = 1}, was_answered).ok();
  };
  EXPECT_FALSE(is_taken("a b", false));
  EXPECT_TRUE(is_taken("a b", true));
  EXPECT_TRUE(is_taken("q", true));
  EXPECT_TRUE(is_taken("q", true)) << "the run says it at its end";
  EXPECT_FALSE(is_taken("q", false));
  EXPECT_TRUE(is_taken("other", false));
}

}  // namespace
}  // namespace pando::testing
