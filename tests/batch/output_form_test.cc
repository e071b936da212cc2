// Answers are written as these: tables, packed files, fields that are asked for.
#include "pando/output_form.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "ask/input_table.h"
#include "ask/output_table.h"
#include "batch/gzip.h"
#include "engine/tiny_engine.h"
#include "model/test_files.h"
#include "pando/batch.h"

namespace pando::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInput =
    R"({"id": "d", "context": "Some, \"context\".", "questions": ["One?", {"text": "Two?", "answers": ["2", "b"]}], "metadata": {"k": 1}}
{"id": 5, "prompt": "A prompt.", "n": 2, "temperature": 1, "answers": ["x"]}
{"custom_id": "b", "url": "/v1/completions", "body": {"prompt": "One"}}
)";

BatchOptions batch_options(OutputFormat output = OutputFormat::kJsonLines) {
  BatchOptions options;
  options.defaults.sampling.max_tokens = 4;
  options.defaults.sampling.ignore_eos = true;
  options.output = output;
  options.ordered = true;
  return options;
}

std::string ran(const BatchOptions& options, const std::string& input = kInput) {
  std::istringstream in(input);
  std::ostringstream out;
  EXPECT_TRUE(run_batch(*open_tiny(), in, 0, out, options).ok());
  return out.str();
}

// A property of a schema is a column behind the text.
TEST(OutputForm, PropertiesOfASchemaAreColumns) {
  BatchOptions options = batch_options(OutputFormat::kCsv);
  options.defaults.sampling.max_tokens = 60;
  options.defaults.sampling.form = TextForm{
      .kind = TextForm::Kind::kJsonSchema,
      .text = R"({"type": "object", "properties": {"z": {"const": [1]}, "id": {"const": "b"}},
                  "required": ["z", "id"], "additionalProperties": false})"};
  const std::string table = ran(options, R"({"id": "q", "prompt": "A prompt."})");
  EXPECT_TRUE(table.starts_with("id,question_id,text,z,answer.id,finish_reason,")) << table;
  EXPECT_NE(table.find("\nq,,\"{\"\"z\"\":[1],\"\"id\"\":\"\"b\"\"}\",[1],b,stop,"),
            std::string::npos)
      << table;
}

TEST(OutputForm, NoTwoColumnsHaveOneName) {
  BatchOptions options = batch_options(OutputFormat::kCsv);
  options.defaults.sampling.form =
      TextForm{.kind = TextForm::Kind::kJsonSchema,
               .text = R"({"properties": {"id": {}, "answer.id": {}, "": {}, "city": {}, "more": {},
                                 "metadata.city": {}}})"};
  ask::OutputTable table(options);
  table.take_input_columns({"city", "metadata.city", "text", "metadata.text", "more"});
  EXPECT_EQ(table.header(),
            "id,question_id,text,answer.id,answer.answer.id,answer.,city,answer.more,metadata.city,"
            "finish_reason,prompt_tokens,completion_tokens,metadata.metadata.city,"
            "metadata.metadata.metadata.city,metadata.text,metadata.metadata.text,metadata.more,"
            "more\n");
}

TEST(OutputForm, TheEndingDecides) {
  const auto form = [](const char* path) {
    const Result<OutputForm> found = output_form(path);
    if (!found) return std::string("refused");
    return std::to_string(static_cast<int>(found->format)) + (found->gzip ? " gz" : "");
  };
  for (const char* lines : {"a.jsonl", "a.json", "b.d/a.ndjson", "a.txt", "a", "-", "/dev/null"})
    EXPECT_EQ(form(lines), "0") << lines;
  EXPECT_EQ(form("a.csv"), "1");
  EXPECT_EQ(form("a.b.tsv"), "2");
  EXPECT_EQ(form("a.jsonl.gz"), "0 gz");
  EXPECT_EQ(form("a.csv.gz"), "1 gz");
  EXPECT_EQ(form("a.gz"), "0 gz");
  for (const char* other : {"a.npy", "a.parquet", "a.npy.gz", "a.csv.zst"})
    EXPECT_EQ(form(other), "refused") << other;
  EXPECT_EQ(output_form("x.parquet").error().message(),
            "'x.parquet' ends in '.parquet', expected .jsonl, .json, .ndjson or .txt for JSON "
            "lines, or .csv or .tsv for a table, each optionally followed by .gz");
}

TEST(OutputTable, CellsAreQuotedWhereTheyMust) {
  EXPECT_EQ(ask::written_cell("a b", ','), "a b");
  EXPECT_EQ(ask::written_cell("a,b", ','), "\"a,b\"");
  EXPECT_EQ(ask::written_cell("a,b", '\t'), "a,b");
  EXPECT_EQ(ask::written_cell("say \"a\"\nb", '\t'), "\"say \"\"a\"\"\nb\"");
}

TEST(OutputTable, RowsAndBack) {
  ask::OutputTable table(batch_options(OutputFormat::kCsv));
  EXPECT_EQ(table.header(),
            "id,question_id,text,finish_reason,prompt_tokens,completion_tokens,metadata,more\n");
  const std::string rows =
      table.rows(Json::parse(
          R"({"id":5,"choice":1,"text":"a \"b\"\nc","prompt_tokens":3,"metadata":{"k":1}})")) +
      table.rows(Json::parse(R"({"id":"d","text":"","choice_logprobs":[-0.5,null]})"));
  EXPECT_EQ(rows,
            "5,,\"a \"\"b\"\"\nc\",,3,,\"{\"\"k\"\":1}\",\"{\"\"choice\"\":1}\"\n"
            "d,,,,,,,\"{\"\"choice_logprobs\"\":[-0.5,null]}\"\n");
  const auto objects = table.objects(table.header() + rows);
  ASSERT_TRUE(objects.ok()) << objects.error().message();
  ASSERT_EQ(objects->size(), 2u);
  EXPECT_EQ((*objects)[0]["text"], "a \"b\"\nc");
  EXPECT_EQ((*objects)[0]["choice"], 1);
  EXPECT_FALSE((*objects)[1].contains("text"));
  EXPECT_EQ((*objects)[1]["choice_logprobs"][0], -0.5);
}

TEST(OutputTable, ColumnsOfTheInputComeBack) {
  BatchOptions options = batch_options(OutputFormat::kTsv);
  options.format = InputFormat::kCsv;
  options.with = {.question = true, .answers = true, .scores = true, .prompt = true};
  options.defaults.prompt_template = "{context}|{question}";
  const std::string out =
      ran(options, "id,context,question,answer,level,text\n1,C,Q,A,easy,\"a\tb\"\n");
  const std::string header =
      "id\tquestion_id\tquestion\ttext\tanswers\texact_match\ttoken_f1\trouge_l\t"
      "finish_reason\tprompt_tokens\tcompletion_tokens\tprompt\tlevel\t"
      "metadata.text\tmore\n";
  ASSERT_TRUE(out.starts_with(header)) << out;
  const auto cells =
      ask::split_row(out.substr(header.size(), out.size() - header.size() - 1), '\t');
  ASSERT_TRUE(cells.ok()) << cells.error().message();
  ASSERT_EQ(cells->size(), 15u);
  EXPECT_EQ((*cells)[2], "Q");
  EXPECT_EQ((*cells)[4], "[\"A\"]");
  EXPECT_EQ((*cells)[5], "0.0");
  EXPECT_EQ((*cells)[11], "C|Q");
  EXPECT_EQ((*cells)[12], "easy");
  EXPECT_EQ((*cells)[13], "a\tb");
}

TEST(OutputTable, HasAccuraciesWhereTheFirstLineHasChoices) {
  BatchOptions options = batch_options(OutputFormat::kCsv);
  options.with.scores = true;
  const std::string plain = R"({"prompt": "P", "answers": ["A"]})",
                    chosen = R"({"prompt": "P", "choices": ["A", "B"], "answers": ["A"]})";
  const auto header = [&](const std::string& input) {
    const std::string out = ran(options, input);
    return out.substr(0, out.find('\n'));
  };
  const std::string without =
                        "id,question_id,text,exact_match,token_f1,rouge_l,finish_reason,"
                        "prompt_tokens,completion_tokens,metadata,more",
                    with =
                        "id,question_id,text,exact_match,token_f1,rouge_l,accuracy,accuracy_norm,"
                        "finish_reason,prompt_tokens,completion_tokens,choice_logprobs,metadata,"
                        "more";
  EXPECT_EQ(header(plain + "\n" + chosen + "\n"), without);
  EXPECT_EQ(header(chosen + "\n" + plain + "\n"), with);
  options.defaults.choices = {"A", "B"};
  EXPECT_EQ(header(plain + "\n"), with);
}

TEST(OutputTable, HasWhatLinesHave) {
  std::istringstream lines(ran(batch_options()));
  ask::OutputTable table(batch_options(OutputFormat::kCsv));
  std::string expected = table.header();
  for (std::string line; std::getline(lines, line);) expected += table.rows(Json::parse(line));
  const auto without_time = [](std::string text) {
    const size_t at = text.find("\"\"created\"\":");
    return at == std::string::npos ? text : text.erase(at, 22);
  };
  EXPECT_EQ(without_time(ran(batch_options(OutputFormat::kCsv))), without_time(expected));
}

TEST(OutputTable, RankingsAndScoresHaveARowForEach) {
  BatchOptions options = batch_options(OutputFormat::kCsv);
  options.task = BatchTask::kRerank;
  options.rerank.prompt_template = "{document}|{query}:";
  const std::string ranks =
      ran(options, R"({"id": "q", "query": "Q", "documents": ["a", {"id": "7", "text": "b"}]})");
  EXPECT_TRUE(
      ranks.starts_with("id,rank,index,document,score,mass,prompt_tokens,metadata,more\nq,1,"))
      << ranks;
  EXPECT_EQ(std::count(ranks.begin(), ranks.end(), '\n'), 3);
  options.task = BatchTask::kScore;
  const std::string scores = ran(options, R"({"prompt": "The", "continuations": [" a", " b"]})");
  EXPECT_TRUE(scores.starts_with("id,index,logprob,tokens,likeliest,best,best_per_byte,"));
  EXPECT_EQ(std::count(scores.begin(), scores.end(), '\n'), 3);
}

TEST(Gzip, MembersAndBack) {
  for (const std::string& text : {std::string(), std::string("a"), std::string(300000, 'x')}) {
    const Result<std::string> back = text_of_member(gzip_member(text));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, text);
  }
  const std::string member = gzip_member("some text");
  EXPECT_FALSE(text_of_member(member.substr(0, member.size() - 1)).ok());
  EXPECT_FALSE(text_of_member(member + member).ok());
  EXPECT_FALSE(text_of_member("no member").ok());
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The objects of all rows or lines of a file, packed or not.
std::multiset<std::string> answers_in(const fs::path& path, const BatchOptions& options) {
  std::string text;
  if (path.extension() == ".gz") {
    std::string packed = contents(path);
    while (!packed.empty()) {  // members, one after the other
      size_t end = packed.find("\x1f\x8b\x08", 1);
      while (end != std::string::npos && !text_of_member(packed.substr(0, end)).ok())
        end = packed.find("\x1f\x8b\x08", end + 1);
      text += text_of_member(packed.substr(0, end)).value();
      packed.erase(0, end);
    }
  } else {
    text = contents(path);
  }
  std::multiset<std::string> answers;
  if (options.output == OutputFormat::kJsonLines) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) answers.insert(line);
  } else {
    ask::OutputTable table(options);
    table.take_choices(options, /*has_choices=*/true);
    EXPECT_TRUE(text.starts_with(table.header()));
    const auto objects = table.objects(text);
    EXPECT_TRUE(objects.ok());
    for (const auto& object : *objects) answers.insert(object.dump());
  }
  return answers;
}

TEST(OutputForm, TablesAndPackedFilesAreResumedAtEveryLineOfTheirJournal) {
  const TemporaryFolder folder;
  std::string input;
  for (int i = 0; i < 12; ++i)
    input += R"({"context": "C", "questions": [{"text": "Q)" + std::to_string(i) +
             R"(", "answers": ["x"]}, {"text": "R", "choices": ["y", "z"], "answers": ["z"]}]})"
             "\n";
  for (const char* name : {"a.csv", "b.tsv", "c.jsonl.gz", "d.csv.gz"}) {
    const fs::path path = folder.path() / name;
    fs::path journal = path;
    journal += ".journal";
    BatchOptions options = batch_options(output_form(path)->format);
    options.ordered = false;
    const auto run = [&](AnswerSink& sink, const std::atomic<bool>* stop = nullptr) {
      BatchOptions asked = options;
      asked.stop = stop;
      std::istringstream in(input);
      EngineOptions engine = tiny_options();
      engine.max_running = 4;
      auto summary = run_batch(*open_tiny(engine), in, input.size(), sink, asked);
      EXPECT_TRUE(summary.ok()) << summary.error().message();
      return *summary;
    };
    const BatchSummary whole = run(**AnswerFile::create(path, {}));
    const std::multiset<std::string> expected = answers_in(path, options);
    EXPECT_EQ(expected.size(), 24u);

    std::string written, kept;  // of a run that was killed when all was answered
    {
      auto file = AnswerFile::create(path, {}, /*overwrite=*/true);
      struct Unfinished : AnswerSink {  // flushes now and then, and does not finish
        explicit Unfinished(AnswerFile& f) : file(f) {}
        void append(const AnswerRecord& record, const std::string& lines) override {
          file.append(record, lines);
          if (++n % 5 != 0) return;
          EXPECT_TRUE(file.flush().ok());
        }
        Status commit() override { return {}; }
        Status flush() override { return file.flush(); }
        AnswerFile& file;
        int n = 0;
      } sink(**file);
      run(sink);
      written = contents(path);
      kept = contents(journal);
    }
    for (size_t end = kept.find('\n') + 1; end != 0 && end <= kept.size();
         end = kept.find('\n', end) + 1) {
      std::ofstream(path, std::ios::binary) << written;
      std::ofstream(journal) << kept.substr(0, end) << "{\"line";  // torn
      auto file = AnswerFile::resume(path, {});
      ASSERT_TRUE(file.ok()) << file.error().message();
      const BatchSummary resumed = run(**file);
      EXPECT_EQ(answers_in(path, options), expected) << name << " after " << end;
      EXPECT_EQ(resumed.scores.all().choice_accuracy, whole.scores.all().choice_accuracy);
      EXPECT_EQ(resumed.scores.all().choice_accuracy_norm, whole.scores.all().choice_accuracy_norm);
      EXPECT_EQ(resumed.scores.all().token_f1, whole.scores.all().token_f1);
      EXPECT_EQ(resumed.scores.all().n, 24u);
      if (end == kept.size()) break;
    }
  }
}

}  // namespace
}  // namespace pando::testing
