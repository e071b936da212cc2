// `pando embed`, `rerank` and `score`, as a user runs them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/process.h"

namespace pando::testing {
namespace {

using Json = nlohmann::json;

class TasksTest : public ProcessTest {
 protected:
  Finished task(const std::string& name, const std::string& arguments) {
    return pando(fmt::format("{} --model m --threads 1 --kv-memory 64MiB {}", name, arguments));
  }
  static void write(const std::string& name, const std::string& text) {
    std::ofstream(at(name)) << text;
  }
};

TEST_F(TasksTest, DryRun) {
  write("dry.jsonl", "{\"query\": \"Q\", \"documents\": [\"One\", \"Two\"]}\n");
  write("qrels.txt", "1 0 1 1\n");
  const Finished ranked =
      task("rerank",
           "--input dry.jsonl --dry-run 9 --output dry-out.jsonl --trec-run dry.run "
           "--qrels qrels.txt --template '{query}|{document}'");
  EXPECT_EQ(ranked.code, 0) << ranked;
  EXPECT_NE(ranked.out.find("\n"
                            "Q|Two\n"
                            "== end of the prompt\n"
                            "scored after it: \"yes\" (3 tokens), \"no\" (2 tokens)\n"),
            std::string::npos)
      << ranked;
  EXPECT_FALSE(std::filesystem::exists(at("dry-out.jsonl")));
  EXPECT_FALSE(std::filesystem::exists(at("dry.run")));
  write("dry.txt", "A text.");
  EXPECT_EQ(task("score", "--perplexity dry.txt --dry-run").code, 2);
}

TEST_F(TasksTest, Embed) {
  write("texts.jsonl", "{\"id\": \"a\", \"text\": \"One\"}\n{\"id\": \"b\", \"text\": \"Two\"}\n");
  const Finished last = task("embed", "--input texts.jsonl --ordered"),
                 mean =
                     task("embed", "--input texts.jsonl --ordered --pooling mean --dimensions 4"),
                 raw = task("embed", "--input texts.jsonl --ordered --no-normalize");
  ASSERT_EQ(last.code, 0) << last;
  ASSERT_EQ(mean.code, 0) << mean;
  ASSERT_EQ(raw.code, 0) << raw;
  const auto first = [](const Finished& of) {
    const Json line = Json::parse(of.out.substr(0, of.out.find('\n')));
    EXPECT_EQ(line["id"], "a");
    return line["embedding"].get<std::vector<double>>();
  };
  const auto length = [](const std::vector<double>& of) {
    double sum = 0;
    for (const double value : of) sum += value * value;
    return sum;
  };
  EXPECT_NEAR(length(first(last)), 1, 1e-6);
  EXPECT_GT(std::abs(length(first(raw)) - 1), 1e-3);
  EXPECT_EQ(first(mean).size(), 4u);
  const Finished many = task("embed", "--input texts.jsonl --dimensions 100000");
  EXPECT_EQ(many.code, 2) << many;
  EXPECT_TRUE(many.says("dimensions is 100000, expected at most")) << many;
}

TEST_F(TasksTest, RerankWritesARunAndItsGain) {
  write(
      "queries.jsonl",
      R"({"id": "q1", "query": "aspen", "documents": [{"id": "d1", "text": "A tree"}, {"id": "d2", "text": "A car"}]}
{"id": 7, "query": "oak", "documents": ["A tree", "Another tree"]}
)");
  write("qrels.txt", "q1 0 d1 0\nq1 0 d2 1\n7 0 0 1\n7 0 1 1\nq9 0 d1 1\n");
  const std::string arguments =
      "--input queries.jsonl --output ranks.jsonl --ordered --trec-run run.txt --qrels qrels.txt";
  const Finished done = task("rerank", arguments);
  ASSERT_EQ(done.code, 0) << done;
  const std::string ranks = contents(at("ranks.jsonl")), run = contents(at("run.txt"));
  const Json line = Json::parse(ranks.substr(0, ranks.find('\n')));
  std::istringstream lines(run);
  for (int rank = 1; rank <= 2; ++rank) {
    const Json& result = line["results"][rank - 1];
    std::string text;
    std::getline(lines, text);
    EXPECT_EQ(text, fmt::format("q1 Q0 {} {} {} pando", result["id"].get<std::string>(), rank,
                                result["score"].get<double>()));
  }
  const bool good = line["results"][0]["id"] == "d2";  // else at rank 2: 1 / log2(3)
  EXPECT_TRUE(done.says(good ? "nDCG@10: 1.0000, the mean of 2 queries"
                             : "nDCG@10: 0.8155, the mean of 2 queries"))
      << done;
  // A random model is no reranker.
  const double mass = line["results"][0]["mass"];
  EXPECT_GT(mass, 0);
  EXPECT_LT(mass, 0.1);
  const std::string warning =
      "pando: the scores mean little: the model answers 'yes' or 'no' with a probability of only ";
  EXPECT_TRUE(done.says(warning)) << done;
  EXPECT_TRUE(done.says("(mean of 4 documents)\n")) << done;
  EXPECT_TRUE(task("rerank", "--input queries.jsonl --quiet").says(warning));
  EXPECT_TRUE(task("rerank", "--input queries.jsonl --quiet --yes true --no false")
                  .says("the model answers 'true' or 'false' with a probability of only "));
  // The finished run again: nothing is computed, all is reported.
  std::filesystem::remove(at("run.txt"));
  const Finished again = task("rerank", arguments + " --resume");
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_TRUE(again.says("nDCG@10: ")) << again;
  EXPECT_EQ(contents(at("run.txt")), run);
}

TEST_F(TasksTest, TablesOfTexts) {
  write("texts.csv", "id,text,source\na,One,web\nb,Two,\n");
  const Finished done = task("embed", "--input texts.csv --ordered");
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_EQ(Json::parse(done.out.substr(0, done.out.find('\n')))["metadata"]["source"], "web");
  for (const char* name : {"rerank", "score"}) {
    const Finished table = task(name, "--input texts.csv");
    EXPECT_EQ(table.code, 2) << table;
    EXPECT_TRUE(table.says("'texts.csv' has the name of a table, expected JSON lines\n")) << table;
  }
}

TEST_F(TasksTest, ATemplateWithoutAnInstructionIsForEveryText) {
  write("plain.jsonl", "{\"id\": \"a\", \"text\": \"One\"}\n");
  write("whole.jsonl", "{\"id\": \"a\", \"text\": \"passage: One\"}\n");
  const Finished with = task("embed", "--input plain.jsonl --template 'passage: {text}'");
  ASSERT_EQ(with.code, 0) << with;
  EXPECT_EQ(with.out, task("embed", "--input whole.jsonl").out);
  const Finished bare = task("embed", "--input plain.jsonl --template 'passage: '");
  EXPECT_EQ(bare.code, 2) << bare;
  EXPECT_TRUE(bare.says("the template is 'passage: ', expected {text} in it")) << bare;
}

TEST_F(TasksTest, WhatComesOutIsCompared) {
  write("texts-c.jsonl", "{\"text\": \"One text\"}\n{\"text\": \"Another text\"}\n");
  write("queries-c.jsonl",
        "{\"query\": \"q\", \"documents\": [\"first\", \"second\", \"third\"]}\n");
  write("scores-c.jsonl", "{\"prompt\": \"The sky is\", \"continuations\": [\" blue\", \" x\"]}\n");
  const std::tuple<const char*, const char*, const char*, const char*> tasks[] = {
      {"embed", "texts-c.jsonl", "vectors", "tree: 2 vectors in "},
      {"rerank", "queries-c.jsonl", "scores", "tree: 3 scores in "},
      {"score", "scores-c.jsonl", "likelihoods", "tree: 1 scored line in "}};
  for (const auto& [name, input, what, footer] : tasks) {
    const std::string arguments = fmt::format("--input {} --output /dev/null", input);
    const Finished same = task(name, arguments + " --compare packed");
    EXPECT_EQ(same.code, 0) << same;
    EXPECT_TRUE(same.says(fmt::format("{} identical: yes", what))) << same;
    EXPECT_TRUE(same.says(footer)) << same;
    EXPECT_FALSE(same.says(" answers in ")) << same;
    EXPECT_FALSE(same.says("questions/s")) << same;
  }
}

TEST_F(TasksTest, ABadLineIsToldOnceThoughTwoRunsReadIt) {
  write("bad-c.jsonl", "{\"text\": \"One text\"}\n{\"txt\": \"Another\"}\n");
  const Finished compared =
      task("embed", "--input bad-c.jsonl --output /dev/null --compare packed");
  EXPECT_EQ(compared.code, 3) << compared;
  const size_t first = compared.err.find("pando: line 2: ");
  ASSERT_NE(first, std::string::npos) << compared;
  EXPECT_EQ(compared.err.find("line 2: ", first + 10), std::string::npos) << compared;
  EXPECT_TRUE(compared.says("vectors identical: yes")) << compared;
}

// An old run's file is lost only to a run that came to its end.
TEST_F(TasksTest, ARunTakesTheOldOnesPlaceAtItsEnd) {
  write("one.jsonl", "{\"id\": \"q\", \"query\": \"q\", \"documents\": [\"d\"]}\n");
  write("bad.jsonl",
        "{\"id\": \"q\", \"query\": \"q\", \"documents\": [\"d\"]}\n"
        "{\"id\": \"a b\", \"query\": \"q\", \"documents\": [\"d\"]}\n");
  write("old.txt", "p Q0 d 1 0.5 earlier\n");
  const auto run = [&](const std::string& input) {
    return task("rerank",
                fmt::format("--input {} --output o-{} --resume --trec-run old.txt", input, input));
  };
  // Answers of a run that did not ask for ids of a TREC run.
  ASSERT_EQ(task("rerank", "--input bad.jsonl --output o-bad.jsonl").code, 0);
  for (const char* input : {"bad.jsonl", "nowhere.jsonl"}) {
    const Finished failed = run(input);
    EXPECT_EQ(failed.code, 1) << failed;
    EXPECT_EQ(contents(at("old.txt")), "p Q0 d 1 0.5 earlier\n") << input;
    EXPECT_FALSE(std::filesystem::exists(at("old.txt.new"))) << input;
  }
  EXPECT_EQ(run("one.jsonl").code, 0);
  EXPECT_TRUE(contents(at("old.txt")).starts_with("q Q0 0 1 "));
  EXPECT_FALSE(std::filesystem::exists(at("old.txt.new")));
}

TEST_F(TasksTest, EmbedNamesWhatIsWrong) {
  write("text.jsonl", "{\"text\": \"T\"}\n");
  for (const auto& [options, other] :
       {std::pair("--instruction I", "--instruction"),
        std::pair("--template 'x {text}'", "a template without {instruction}")}) {
    const Finished refused =
        task("embed", fmt::format("--input text.jsonl --input-type query {}", options));
    EXPECT_EQ(refused.code, 2) << refused;
    EXPECT_TRUE(
        refused.says(fmt::format("--input-type is given with {}, expected one of them", other)))
        << refused;
  }
  // Commands that render no conversation have no template for them.
  for (const char* command : {"embed", "rerank", "score"})
    EXPECT_TRUE(task(command, "--input text.jsonl --chat-template x")
                    .says("unknown option '--chat-template'"))
        << command;
}

TEST_F(TasksTest, RerankNamesWhatIsWrong) {
  write("one.jsonl", "{\"query\": \"q\", \"documents\": [\"d\"]}\n");
  write("bad.txt", "q1 0 d1\n");
  write("others.txt", "q9 0 d1 1\n");
  const auto error = [&](const std::string& arguments, int code, const std::string& message) {
    const Finished finished = task("rerank", "--input one.jsonl " + arguments);
    EXPECT_EQ(finished.code, code) << finished;
    EXPECT_TRUE(finished.says(message)) << finished;
  };
  error("--yes X --no X", 2,
        "yes is 'X' and no is 'X', which have the same tokens, expected different tokens");
  error("--yes ''", 2, "--yes or --no is empty");
  error("--template '{query} {document}' --instruction i", 2,
        "the template has no {instruction} in it for --instruction");
  error("--template '{query}'", 2, "--template: the template has no {document} in it");
  error("--trec-run run2.txt", 2, "expected a file for --output");
  error("--output r1.jsonl --trec-run r1.jsonl", 2, "'r1.jsonl' is the output, expected");
  error("--output r1.jsonl --trec-run one.jsonl", 2, "'one.jsonl' is the input, expected");
  error("--output r1.jsonl --qrels others.txt --top 9", 2,
        "--top is 9, expected 0 (all) or at least 10 with --qrels\n");
  const char* none =
      "--qrels: cannot read 'none.txt': No such file or directory, expected a readable file with "
      "lines 'query iteration document grade'";
  error("--output r1.jsonl --qrels none.txt --top 10", 1, none);
  error("--output r1.jsonl --qrels none.txt", 1, none);
  error("--output r1.jsonl --qrels bad.txt", 1, "'bad.txt': line 1 is 'q1 0 d1'");
  error("--output r1.jsonl --qrels others.txt", 1,
        "'others.txt' has grades for none of the queries");
}

TEST_F(TasksTest, ARunHasOneWordForEachName) {
  write("spaces.jsonl", "{\"id\": \"a b\", \"query\": \"q\", \"documents\": [\"d\"]}\n");
  write("twice.jsonl",
        "{\"id\": 1, \"query\": \"q\", \"documents\": [\"d\"]}\n"
        "{\"id\": \"1\", \"query\": \"q\", \"documents\": [\"d\"]}\n");
  const Finished spaces = task("rerank", "--input spaces.jsonl --output s.jsonl --trec-run s.txt");
  EXPECT_EQ(spaces.code, 3) << spaces;
  EXPECT_TRUE(spaces.says("line 1: the id of the query is 'a b', expected an id without"))
      << spaces;
  const Finished twice = task("rerank", "--input twice.jsonl --output t.jsonl --trec-run t.txt");
  EXPECT_EQ(twice.code, 3) << twice;
  EXPECT_TRUE(twice.says("line 2: query '1' appears twice")) << twice;
  write("documents.jsonl",
        "{\"id\": 1, \"query\": \"q\", \"documents\": [\"d\", {\"id\": 0, \"text\": \"e\"}]}\n"
        "{\"id\": 2, \"query\": \"q\", \"documents\": [{\"id\": \"\", \"text\": \"e\"}]}\n"
        "{\"id\": 3, \"query\": \"q\", \"documents\": [\"d\", {\"id\": 7, \"text\": \"e\"}]}\n");
  const Finished same = task("rerank", "--input documents.jsonl --output d.jsonl --trec-run d.txt");
  EXPECT_EQ(same.code, 3) << same;
  EXPECT_TRUE(same.says("line 1: two documents have the id '0'")) << same;
  EXPECT_TRUE(same.says("line 2: the id of a document is '', expected an id without")) << same;
  const std::string ranked = contents(at("d.txt"));
  EXPECT_EQ(std::count(ranked.begin(), ranked.end(), '\n'), 2) << ranked;
  EXPECT_EQ(task("rerank", "--input documents.jsonl --output e.jsonl").code, 0) << "places differ";
}

// Lines that were ranked without a TREC run in mind get a message about what such a run cannot
// hold.
TEST_F(TasksTest, ARunOfEarlierAnswersHasOneWordForEachName) {
  for (const auto& [name, line, message] :
       {std::tuple{"spaces", R"({"id": "a b", "query": "q", "documents": ["d"]})",
                   "the id of the query is 'a b', expected an id without"},
        {"documents", R"({"id": 1, "query": "q", "documents": ["d", {"id": 0, "text": "e"}]})",
         "two documents have the id '0'"}}) {
    const std::string input = fmt::format("{}-first.jsonl", name);
    write(input, fmt::format("{}\n", line));
    const std::string run = fmt::format("--input {} --output {}-ranks.jsonl", input, name);
    ASSERT_EQ(task("rerank", run).code, 0);
    const Finished resumed = task("rerank", run + " --resume --trec-run refused.txt");
    EXPECT_EQ(resumed.code, 1) << resumed;
    EXPECT_TRUE(resumed.says(message)) << resumed;
    EXPECT_FALSE(std::filesystem::exists(at("refused.txt")));
  }
}

// Nobody reads what is said, and all answers are there.
TEST_F(TasksTest, MessagesThatCannotBeWrittenAreLost) {
  write("texts.jsonl", "{\"text\": \"One\"}\n{\"id\": []}\n{\"text\": \"Two\"}\n");
  const Finished finished = pando(
      "embed --model m --threads 1 --kv-memory 64MiB --input texts.jsonl --output quiet.jsonl "
      "--verbose 2>/dev/full");
  EXPECT_EQ(finished.code, 3) << finished;
  const std::string answers = contents(at("quiet.jsonl"));
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 2);
}

// Models in the form of Qwen3-Embedding and Qwen3-Reranker need no more than the name of a prompt.
TEST_F(TasksTest, TheModelsFilesSayHowItIsAsked) {
  const auto ask = [&](const char* command, const std::string& options) {
    const bool embeds = command == std::string("embed");
    return pando(
        fmt::format("{0} --model '{1}/tests/task/data/qwen3-{2}' --threads 1 --kv-memory "
                    "64MiB {3}",
                    command, PANDO_SOURCE_DIR, embeds ? "embedding" : "reranker", options));
  };
  write("plain.jsonl", R"({"id": "a", "text": "x"})");
  write("typed.jsonl", R"({"id": "a", "text": "x", "input_type": "query"})");
  write("typed.csv", "id,text,input_type\na,x,query\n");
  const Finished plain = ask("embed", "--input plain.jsonl"),
                 query = ask("embed", "--input plain.jsonl --input-type query"),
                 line = ask("embed", "--input typed.jsonl"),
                 cell = ask("embed", "--input typed.csv"),
                 other = ask("embed", "--input typed.jsonl --input-type document"),
                 document = ask("embed", "--input plain.jsonl --input-type document");
  ASSERT_EQ(query.code, 0) << query;
  EXPECT_TRUE(query.says(" before each text\n")) << query;
  EXPECT_NE(plain.out, query.out);
  EXPECT_EQ(line.out, query.out);
  EXPECT_EQ(cell.out, query.out);
  EXPECT_EQ(other.out, query.out);
  EXPECT_EQ(document.out, plain.out);
  const Finished wrong = ask("embed", "--input plain.jsonl --input-type code");
  EXPECT_EQ(wrong.code, 2) << wrong;
  EXPECT_TRUE(
      wrong.says("input_type is 'code', expected a prompt of the model's files: document "
                 "or query"))
      << wrong;
  write("pairs.jsonl", R"({"query": "q", "documents": ["a", "b"]})");
  const Finished ranked = ask("rerank", "--input pairs.jsonl");
  ASSERT_EQ(ranked.code, 0) << ranked;
  EXPECT_EQ(ask("rerank", "--input pairs.jsonl --yes yes --no no").out, ranked.out);
  EXPECT_NE(ask("rerank", "--input pairs.jsonl --instruction X").out, ranked.out);
  const Finished vectors = pando("embed --input plain.jsonl --model '" PANDO_SOURCE_DIR
                                 "/tests/task/data/qwen3-reranker'");
  EXPECT_EQ(vectors.code, 2) << vectors;
  EXPECT_TRUE(vectors.says("LogitScore' in place 2, expected one of type Pooling")) << vectors;
}

// Cut tokens are reported on the line, in a warning, in the summary and in the report.
TEST_F(TasksTest, TextsThatTheModelsFilesCutAreCounted) {
  namespace fs = std::filesystem;
  for (const char* name : {"embedding", "reranker"}) {
    fs::copy(fs::path(PANDO_SOURCE_DIR) / "tests/task/data" / fmt::format("qwen3-{}", name),
             at(name), fs::copy_options::recursive);
    std::ofstream(at(name) / "sentence_bert_config.json")
        << (name == std::string("embedding") ? R"({"max_seq_length": 12})"
                                             : R"({"max_seq_length": 180})");
  }
  const std::string longer(60, 'q');
  write("long.jsonl", fmt::format("{{\"id\": \"a\", \"text\": \"{}\"}}\n"
                                  "{{\"id\": \"b\", \"text\": \"x\"}}\n",
                                  longer));
  const std::string with = " --threads 1 --kv-memory 64MiB --ordered --report report.json";
  const Finished vectors = pando("embed --model embedding --input long.jsonl" + with);
  ASSERT_EQ(vectors.code, 0) << vectors;
  const Json first = Json::parse(vectors.out.substr(0, vectors.out.find('\n')));
  EXPECT_EQ(first["prompt_tokens"], 12);
  const int n_cut = first["cut_tokens"];
  EXPECT_GT(n_cut, 10);
  EXPECT_TRUE(vectors.says(fmt::format("line 1: the text of {} tokens was cut to 12", n_cut + 12)))
      << vectors;
  EXPECT_TRUE(vectors.says("longer texts are cut to 12 tokens")) << vectors;
  EXPECT_TRUE(vectors.says("lines shortened to fit: 1")) << vectors;
  EXPECT_EQ(vectors.out.find("cut_tokens", vectors.out.find('\n')), std::string::npos);
  EXPECT_NE(contents(at("report.json")).find("\"lines_cut\": 1"), std::string::npos)
      << contents(at("report.json"));
  const Finished dry = pando("embed --model embedding --input long.jsonl --dry-run 2");
  EXPECT_NE(dry.out.find("was cut to 12"), std::string::npos) << dry;
  write("pairs.jsonl", fmt::format(R"({{"query": "q", "documents": ["{}", "b"]}})", longer));
  const Finished ranked = pando("rerank --model reranker --input pairs.jsonl" + with);
  ASSERT_EQ(ranked.code, 0) << ranked;
  EXPECT_GT(Json::parse(ranked.out)["cut_tokens"], 0);
  EXPECT_TRUE(ranked.says("was cut to 180")) << ranked;
}

TEST_F(TasksTest, ScoreOfContinuations) {
  write("scores.jsonl",
        "{\"prompt\": \"The sky is\", \"continuations\": [\" blue\", \" x\"], \"target\": 0}\n");
  const Finished done = task("score", "--input scores.jsonl");
  ASSERT_EQ(done.code, 0) << done;
  EXPECT_EQ(Json::parse(done.out)["scores"].size(), 2u);
  EXPECT_TRUE(done.says("choice")) << done;
  const Finished neither = task("score", "");
  EXPECT_EQ(neither.code, 2) << neither;
  EXPECT_TRUE(neither.says("score: nothing to score, expected --input or --perplexity")) << neither;
  EXPECT_EQ(task("score", "--input scores.jsonl --perplexity scores.jsonl").code, 2);
  const Finished no_lines = task("score", "--perplexity scores.jsonl --output p.jsonl");
  EXPECT_EQ(no_lines.code, 2) << no_lines;
  EXPECT_TRUE(no_lines.says("--output excludes --perplexity")) << no_lines;
  write("none.jsonl", "{\"prompt\": \"The\", \"continuations\": []}\n{\"prompt\": \"The\"}\n");
  const Finished none = task("score", "--input none.jsonl");
  EXPECT_EQ(none.code, 3) << none;
  EXPECT_TRUE(none.says("line 1: field 'continuations' is [], expected a non-empty list")) << none;
  EXPECT_TRUE(none.says("line 2: the line has no 'continuations'")) << none;
}

}  // namespace
}  // namespace pando::testing
