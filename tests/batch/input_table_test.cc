// Tables: rows, cells, columns.
#include "ask/input_table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "batch/record_scanner.h"
#include "engine/tiny_engine.h"
#include "pando/values/request_options.h"

namespace pando::testing {
namespace {

using Cells = std::vector<std::string>;

Cells cells(std::string_view row, char separator = ',') {
  Result<Cells> split = ask::split_row(row, separator);
  return split ? *split : Cells{std::string("refused: ") + split.error().message()};
}

std::string written_row(const Cells& texts) {
  std::string row;
  for (const std::string& text : texts)
    row += (row.empty() ? "" : "\t") + ask::written_cell(text, '\t');
  return row;
}

TEST(InputTable, Cells) {
  EXPECT_EQ(cells("a,b,c"), (Cells{"a", "b", "c"}));
  EXPECT_EQ(cells(""), (Cells{""}));
  EXPECT_EQ(cells(",a,"), (Cells{"", "a", ""}));
  EXPECT_EQ(cells(R"("a, ""b""",c)"), (Cells{R"(a, "b")", "c"}));
  EXPECT_EQ(cells("\"two\nlines\",\"\""), (Cells{"two\nlines", ""}));
  EXPECT_EQ(cells("a,b\tc", '\t'), (Cells{"a,b", "c"}));
  EXPECT_EQ(cells("a,\"b"), (Cells{"refused: cell 2 starts with a quote that is never closed"}));
  EXPECT_EQ(cells("\"a\"b,c"),
            (Cells{"refused: cell 1 continues after its closing quote, expected ','"}));
  EXPECT_EQ(cells("a\"b"), (Cells{"refused: cell 1 has a quote inside, expected the cell in quotes "
                                  "and the inner quote doubled"}));
}

// Readers that split at newlines see such rows as one row.
TEST(InputTable, CarriageReturnsOutsideQuotesAreNamed) {
  const std::string expected =
      " has a carriage return outside quotes, expected a newline at the end of each row";
  EXPECT_EQ(cells("id,prompt\ra,Who?\r"), (Cells{"refused: cell 2" + expected}));
  EXPECT_EQ(cells("\"id\",\"prompt\"\r\"a\""), (Cells{"refused: cell 2" + expected}));
  EXPECT_EQ(cells("a\tb\r", '\t'), (Cells{"refused: cell 2" + expected}));
  EXPECT_EQ(cells("a,\"b\rc\""), (Cells{"a", "b\rc"}));
}

TEST(InputTable, BytesOfZeroAreNamed) {
  EXPECT_EQ(cells(std::string_view("a,b\0c", 5)),
            (Cells{"refused: byte 4 of the row is 0, expected text in UTF-8"}));
}

TEST(InputTable, NamesOfColumns) {
  const auto refused = [](std::string_view row) {
    const Result<ask::InputTable> table = ask::InputTable::open(row, ',');
    return table ? std::string("taken") : table.error().message();
  };
  EXPECT_EQ(refused("context,question"), "taken");
  EXPECT_EQ(refused("id,prompt,anything"), "taken");
  EXPECT_EQ(refused("prompt,prompt"), "two columns are named 'prompt', expected different names");
  EXPECT_EQ(refused("prompt,"), "column 2 has no name");
  EXPECT_NE(refused("prompt,context"), "taken");
  EXPECT_EQ(refused("id,text"),
            "the columns are id, text, expected 'context' and 'question', or 'prompt', among them");
}

TEST(InputTable, OfTextsToEmbed) {
  const Result<ask::InputTable> table =
      ask::InputTable::open("id,text,instruction,prompt", ',', BatchTask::kEmbed);
  ASSERT_TRUE(table.ok()) << table.error().message();
  EXPECT_EQ(*table->line("7,T,I,p"), Json::parse(R"({"id": "7", "text": "T", "instruction": "I",
                "metadata": {"prompt": "p"}})"));
  EXPECT_EQ(*table->line(",T,,"), Json::parse(R"({"text": "T"})"));
  EXPECT_EQ(ask::InputTable::open("id,prompt", ',', BatchTask::kEmbed).error().message(),
            "the columns are id, prompt, expected 'text' among them");
  for (const BatchTask task : {BatchTask::kRerank, BatchTask::kScore})
    EXPECT_FALSE(ask::InputTable::open("id,prompt", ',', task).ok());
}

TEST(InputTable, RowsAreLines) {
  const Result<ask::InputTable> table = ask::InputTable::open(
      "id,context,question,answers,choices,max_tokens,temperature,source", ',');
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table->line("7,C,Q,yes|Yes,yes|no,5,0.5,web"),
            Json::parse(R"({"id": "7", "context": "C", "question": "Q",
                "answers": ["yes", "Yes"], "choices": ["yes", "no"], "max_tokens": 5,
                "temperature": 0.5, "metadata": {"source": "web"}})"));
  EXPECT_EQ(*table->line(",,Q,,,,,"), Json::parse(R"({"context": "", "question": "Q"})"));
  EXPECT_EQ(table->line("7,C").error().message(),
            "the row has 2 cells, expected 8, as many as the first row");
  EXPECT_EQ(table->line(",,Q,,,many,,").error().message(),
            "column 'max_tokens' is 'many', expected a JSON value");
}

TEST(InputTable, ListsInCells) {
  const ask::InputTable table =
      ask::InputTable::open("prompt\tanswers\tchoices\tstop", '\t').value();
  const auto list = [&](const std::string& row, const char* name) {
    const Result<Json> line = table.line(row);
    return line ? line->value(name, Json()) : Json(line.error().message());
  };
  EXPECT_EQ(list(written_row({"P", R"(["a, b", "c|d"])", "", ""}), "answers"),
            Json::array({"a, b", "c|d"}));
  EXPECT_EQ(list("P\t[]\t\t", "answers"), Json::array());
  EXPECT_EQ(list(written_row({"P", " [\"a\"] ", "", ""}), "answers"), Json::array({"a"}));
  EXPECT_EQ(list("P\t\t\t", "answers"), Json()) << "an empty cell says nothing";
  EXPECT_EQ(list(written_row({"P", "", R"(["yes"])", R"(["x", "\n"])"}), "choices"),
            Json::array({"yes"}));
  EXPECT_EQ(list(written_row({"P", "", R"(["yes"])", R"(["x", "\n"])"}), "stop"),
            Json::array({"x", "\n"}));
  EXPECT_EQ(list("P\t[a] or b\t\t", "answers"), Json::array({"[a] or b"}));
  EXPECT_EQ(list("P\t\t[a]|[b]\t", "choices"), Json::array({"[a]", "[b]"}));
  EXPECT_EQ(list("P\t\t\t[END]", "stop"), Json::array({"[END]"}));
  EXPECT_EQ(list("P\t\t\t [END] ", "stop"), Json::array({" [END] "}));
  EXPECT_EQ(list("P\t['a', 'b']\t\t", "answers"),
            "column 'answers' is \"['a', 'b']\", expected a list of strings in JSON, such as "
            "[\"a\", \"b\"], or texts separated by |");
  for (const char* cell : {"[1, 2]", "[sic]", "['a|b']"})
    EXPECT_TRUE(list(std::string("P\t\t") + cell + "\t", "choices")
                    .get<std::string>()
                    .starts_with("column 'choices' is "))
        << cell;
  EXPECT_EQ(list("P\t{'text': ['a'], 'answer_start': [5]}\t\t", "answers"),
            "column 'answers' is \"{'text': ['a'], 'answer_start': [5]}\", expected a list of "
            "strings in JSON, or texts separated by |");
  // A cell of 'answer' is one answer, unchanged.
  EXPECT_EQ(*ask::InputTable::open("prompt,answer", ',')->line("P,[sic]"),
            Json::parse(R"({"prompt": "P", "answers": ["[sic]"]})"));
}

TEST(InputTable, ColumnsThatLookLikeFieldsAreNamed) {
  using Names = std::vector<std::pair<std::string, std::string>>;
  const auto near = [](const char* header, BatchTask task = BatchTask::kAnswer) {
    return ask::InputTable::open(header, ',', task).value().near_names();
  };
  EXPECT_EQ(near("prompt,Answers, choice,max-tokens,Temperature ,schemas"),
            (Names{{"Answers", "answers"},
                   {" choice", "choices"},
                   {"max-tokens", "max_tokens"},
                   {"Temperature ", "temperature"},
                   {"schemas", "schema"}}));
  EXPECT_EQ(near("prompt,answers,source,title,question_id,top"), Names());
  EXPECT_EQ(near("text,ID,prompt", BatchTask::kEmbed), (Names{{"ID", "id"}}));
}

TEST(InputTable, ColumnsThatContradictEachOtherAreRefused) {
  EXPECT_EQ(ask::InputTable::open("prompt,answer,answers", ',').error().message(),
            "the columns are prompt, answer, answers, expected 'answer' or 'answers', not both");
  EXPECT_TRUE(ask::InputTable::open("prompt,context,question", ',')
                  .error()
                  .message()
                  .starts_with("the columns are prompt, context, question, expected "
                               "'context' and 'question', or 'prompt', not both"));
}

// As Python's csv and spreadsheets write them.
TEST(InputTable, FlagsInCapitals) {
  const ask::InputTable table =
      ask::InputTable::open("prompt\tthinking\tignore_eos\tmax_tokens\tsource", '\t').value();
  EXPECT_EQ(*table.line("P\tTrue\tFALSE\t5\tTrue"),
            Json::parse(R"({"prompt": "P", "thinking": true, "ignore_eos": false,
                                      "max_tokens": 5, "metadata": {"source": "True"}})"));
  EXPECT_EQ(*table.line("P\ttrue\tFalse\t\t"),
            Json::parse(R"({"prompt": "P", "thinking": true, "ignore_eos": false})"));
  EXPECT_EQ(table.line("P\tyes\t\t\t").error().message(),
            "column 'thinking' is 'yes', expected true or false");
  EXPECT_EQ(table.line("P\t\t\tTrue\t").error().message(),
            "column 'max_tokens' is 'True', expected a JSON value");
  EXPECT_EQ(ask::InputTable::open("prompt\tschema", '\t')
                ->line("P\t{'type': 'string'}")
                .error()
                .message(),
            "column 'schema' is '{'type': 'string'}', expected a JSON value");
}

TEST(InputTable, SchemasAndEmptyTexts) {
  const ask::InputTable table = ask::InputTable::open("prompt\tschema\tanswers", '\t').value();
  EXPECT_EQ(*table.line(written_row({"P", R"({"type": "integer"})", ""})),
            Json::parse(R"({"prompt": "P", "schema": {"type": "integer"}})"));
  EXPECT_EQ(table.line("P\t\ttailor|").error().message(),
            "column 'answers' is \"tailor|\", expected a text on each side of |");
}

// Why an input has no records; empty where it has some.
std::string not_lines(const std::string& input, BatchTask task = BatchTask::kAnswer,
                      InputFormat format = InputFormat::kJsonLines) {
  std::istringstream in(input);
  RecordScanner scanner(in, format, task);
  return scanner.next() ? std::string() : scanner.failure();
}

TEST(RecordScanner, PackedFilesAreNamed) {
  EXPECT_EQ(not_lines("\x1f\x8b\x08\x01\n\x02\x03"),
            "it is a gzip file, expected JSON lines (hint: pipe it through gunzip -c)");
  EXPECT_EQ(not_lines("\x1f\x8b\x08 \"", BatchTask::kEmbed, InputFormat::kCsv),
            "it is a gzip file, expected a table (hint: pipe it through gunzip -c)");
  EXPECT_EQ(not_lines("PAR1"),
            "it is a Parquet file, not text, expected JSON lines (hint: python -m pando reads it)");
}

TEST(RecordScanner, OtherKindsOfInputAreTold) {
  EXPECT_EQ(not_lines("Once upon a time there was nobody at all who\nsaid so.\n"),
            "it is text: its first line is 'Once upon a time there was nobody at all...', "
            "expected JSON lines such as {\"prompt\": \"...\"} or {\"context\": \"...\", "
            "\"questions\": [\"...\"]}");
  EXPECT_EQ(
      not_lines("id,text\n1,one\n", BatchTask::kEmbed),
      "it is a CSV table: its first line is 'id,text', expected JSON lines such as {\"text\": "
      "\"...\"} (hint: --format csv)");
  EXPECT_TRUE(not_lines("question,context\n").starts_with("it is a CSV table: "));
  EXPECT_TRUE(not_lines("Frage\tText, kurz\nWer?\tC\n")
                  .starts_with("it is a TSV table: its first line is 'Frage\\x09Text, kurz', "
                               "expected JSON lines"))
      << not_lines("Frage\tText, kurz\nWer?\tC\n");
  EXPECT_TRUE(not_lines("query,document\nq,d\n", BatchTask::kRerank)
                  .starts_with("it is a CSV table: its first line is 'query,document', expected"))
      << "it takes none";
  EXPECT_TRUE(not_lines("Well, then\nwe went, and\n").starts_with("it is text: "));
  EXPECT_EQ(not_lines("{\n  \"prompt\": \"p\"\n}\n").substr(0, 31),
            "it is JSON over several lines, ");
  for (const std::string& binary : {std::string("\xfa\xfb"), std::string("\1\0\2\n\0\n", 6)})
    EXPECT_TRUE(not_lines(binary).starts_with("it is binary data, not text, expected JSON lines"))
        << not_lines(binary);
}

TEST(RecordScanner, ObjectsBetweenCarriageReturnsAreTold) {
  EXPECT_EQ(
      not_lines("{\"prompt\": \"a\"}\r{\"prompt\": \"b\"}\r"),
      "line 1 has objects between carriage returns, expected newlines (hint: convert them: tr "
      "'\\r' '\\n')");
  EXPECT_EQ(not_lines("{\"prompt\": \"}\\r{\"}\r\n"), "");
}

// Compact JSON has quotes behind commas, as cells have.
TEST(RecordScanner, JsonIsNoTable) {
  const std::string line = R"({"id":"1","prompt":"P"})";
  for (const InputFormat format : {InputFormat::kCsv, InputFormat::kTsv}) {
    EXPECT_EQ(not_lines("\n" + line + "\n" + line + "\n", BatchTask::kAnswer, format),
              "it is JSON: its first line is '" + line +
                  "', expected a table whose first row names the columns (hint: --format jsonl)");
    for (const char* other : {"{\n \"prompt\": \"P\"\n}\n", "[{\"prompt\": \"P\"}]", " { }"})
      EXPECT_TRUE(not_lines(other, BatchTask::kAnswer, format).starts_with("it is JSON: "))
          << other;
    EXPECT_EQ(not_lines("{id},prompt\n", BatchTask::kAnswer, format), "");
  }
}

// Bad lines tell nothing about the others.
TEST(RecordScanner, BadLinesAmongGoodOnesAreLines) {
  for (const char* input : {"text\n{\"prompt\": 1}\n", "null\n", "{\"prompt\n{\"prompt\n",
                            " {\"a\": 1} \ntext\ntext\n"}) {
    std::istringstream in(input);
    RecordScanner scanner(in, InputFormat::kJsonLines);
    int64_t n = 0;
    for (; const auto record = scanner.next(); ++n)
      EXPECT_EQ(record->line, static_cast<uint64_t>(n + 1)) << input;
    EXPECT_EQ(n, std::count(input, input + std::string_view(input).size(), '\n')) << input;
    EXPECT_EQ(scanner.failure(), "");
  }
}

TEST(RecordScanner, MarksEndsAndQuotes) {
  std::istringstream in("\xef\xbb\xbfone\r\n\r\n  \n\"two\r\nthree\"\nfour");
  RecordScanner scanner(in, InputFormat::kCsv);
  const auto first = scanner.next(), second = scanner.next(), third = scanner.next();
  ASSERT_TRUE(first && second && third);
  EXPECT_EQ(first->text, "one");
  EXPECT_EQ(second->text, "\"two\nthree\"");
  EXPECT_EQ(second->line, 4u);
  EXPECT_EQ(third->text, "four");
  EXPECT_EQ(third->line, 6u);
  EXPECT_EQ(third->bytes_read, in.str().size());
  EXPECT_FALSE(scanner.next());
}

// A line without an end, as of /dev/zero.
TEST(RecordScanner, ALineThatFillsTheMemoryEndsTheInput) {
  class Endless : public std::streambuf {
    int_type underflow() override {
      setg(block_.data(), block_.data(), block_.data() + block_.size());
      return 'x';
    }
    std::string block_ = std::string(size_t{1} << 20, 'x');
  } endless;
  std::istream in(&endless);
  RecordScanner scanner(in, InputFormat::kJsonLines);
  EXPECT_FALSE(scanner.next());
  EXPECT_EQ(scanner.failure(), "line 1 has more than 268435456 bytes");
}

TEST(RecordScanner, AQuoteInsideACellOpensNothing) {
  std::istringstream in("1,a 5\" disk\n2,\"a \"\"b\nc\"\n3,\"\"\n4,x\n");
  RecordScanner scanner(in, InputFormat::kCsv);
  std::vector<std::string> texts;
  while (const auto record = scanner.next()) texts.push_back(record->text);
  EXPECT_EQ(texts, (std::vector<std::string>{"1,a 5\" disk", "2,\"a \"\"b\nc\"", "3,\"\"", "4,x"}));
}

TEST(TableBatch, RowsThatAreNotUtf8AreReportedAndTheRestRuns) {
  std::istringstream in("id,prompt\ncaf\xe9,P\nb,Q\n");
  std::ostringstream out;
  BatchOptions options;
  options.format = InputFormat::kCsv;
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->bad_lines, 1u);
  EXPECT_EQ(summary->answers, 1u);
}

TEST(TableBatch, AnswersRows) {
  std::istringstream in(
      "id\tcontext\tquestion\tanswer\n"
      "a\tA tree.\tWhich?\tyes\n"
      "b\tA tree.\n"
      "c\t\"A\ttree.\"\tWhich?\t\n");
  std::ostringstream out;
  std::vector<std::string> problems;
  BatchOptions options;
  options.format = InputFormat::kTsv;
  options.ordered = true;
  options.on_problem = [&](const std::string& message) { problems.push_back(message); };
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary->lines, 3u);
  EXPECT_EQ(summary->answers, 2u);
  EXPECT_EQ(summary->scores.all().n, 1u);
  EXPECT_EQ(problems, std::vector<std::string>{
                          "line 3: the row has 2 cells, expected 4, as many as the first row"});
  EXPECT_TRUE(out.str().starts_with("{\"id\":\"a\",\"text\":")) << out.str();
}

// The result is that of the same references in JSON lines.
TEST(TableBatch, ListsOfReferencesAreScored) {
  const auto scored = [](const std::string& input, InputFormat format) {
    std::istringstream in(input);
    std::ostringstream out;
    BatchOptions options;
    options.format = format;
    options.ordered = true;
    options.with.answers = options.with.scores = true;
    options.defaults.sampling.max_tokens = 4;
    const auto summary = run_batch(*open_tiny(), in, 0, out, options);
    EXPECT_TRUE(summary.ok());
    return std::pair(out.str(), summary->scores.all().n);
  };
  const auto table = scored(
      "id\tprompt\tanswers\n"
      "a\tP\t\"[\"\"x\"\", \"\"a|b\"\"]\"\n"
      "b\tP\t[]\n"
      "c\tP\t\n"
      "d\tP\tx|y\n",
      InputFormat::kTsv);
  const auto lines = scored(R"({"id": "a", "prompt": "P", "answers": ["x", "a|b"]})"
                            "\n"
                            R"({"id": "b", "prompt": "P", "answers": []})"
                            "\n"
                            R"({"id": "c", "prompt": "P"})"
                            "\n"
                            R"({"id": "d", "prompt": "P", "answers": ["x", "y"]})"
                            "\n",
                            InputFormat::kJsonLines);
  EXPECT_EQ(table.second, 3u);
  EXPECT_EQ(table, lines);
  EXPECT_NE(table.first.find("\"answers\":[]"), std::string::npos) << table.first;
}

TEST(TableBatch, WithoutItsColumnsNothingIsAnswered) {
  std::istringstream in("id,text\na,b\n");
  std::ostringstream out;
  BatchOptions options;
  options.format = InputFormat::kCsv;
  const auto summary = run_batch(*open_tiny(), in, 0, out, options);
  ASSERT_FALSE(summary.ok());
  EXPECT_EQ(summary.error().code, ErrorCode::kInvalidArgument);
}

TEST(InputTable, EveryOptionIsAColumn) {
  for (const RequestOption& option : request_options()) {
    const Result<ask::InputTable> table =
        ask::InputTable::open(std::string("prompt,other,") + option.name, ',');
    ASSERT_TRUE(table.ok()) << table.error().message();
    EXPECT_EQ(table->options(), std::vector<std::string>{option.name});
    EXPECT_EQ(table->others(), std::vector<std::string>{"other"});
  }
  const nlohmann::json line =
      ask::InputTable::open("prompt,min_tokens,stop", ',')->line("P,3,a|b").value();
  EXPECT_EQ(line, (nlohmann::json{{"prompt", "P"}, {"min_tokens", 3}, {"stop", {"a", "b"}}}));
}

}  // namespace
}  // namespace pando::testing
