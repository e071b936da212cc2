// Tables: rows, cells, columns.
#include "batch/table.h"

#include <gtest/gtest.h>

#include <sstream>

#include "batch/record_scanner.h"
#include "engine/tiny_engine.h"

namespace pando::testing {
namespace {

using Cells = std::vector<std::string>;

Cells cells(std::string_view row, char separator = ',') {
  Result<Cells> split = split_row(row, separator);
  return split ? *split : Cells{std::string("refused: ") + split.error().message};
}

TEST(Table, Cells) {
  EXPECT_EQ(cells("a,b,c"), (Cells{"a", "b", "c"}));
  EXPECT_EQ(cells(""), (Cells{""}));
  EXPECT_EQ(cells(",a,"), (Cells{"", "a", ""}));
  EXPECT_EQ(cells(R"("a, ""b""",c)"), (Cells{R"(a, "b")", "c"}));
  EXPECT_EQ(cells("\"two\nlines\",\"\""), (Cells{"two\nlines", ""}));
  EXPECT_EQ(cells("a,b\tc", '\t'), (Cells{"a,b", "c"}));
  EXPECT_EQ(cells("a,\"b"), (Cells{"refused: cell 2 begins with a quote that does not end"}));
  EXPECT_EQ(cells("\"a\"b,c"),
            (Cells{"refused: cell 1 goes on behind its closing quote, expected ','"}));
  EXPECT_EQ(cells("a\"b"), (Cells{"refused: cell 1 has a quote inside, expected the cell in quotes "
                                  "and the quote doubled"}));
}

TEST(Table, NamesOfColumns) {
  const auto refused = [](std::string_view row) {
    const Result<Table> table = Table::open(row, ',');
    return table ? std::string("taken") : table.error().message;
  };
  EXPECT_EQ(refused("context,question"), "taken");
  EXPECT_EQ(refused("id,prompt,anything"), "taken");
  EXPECT_EQ(refused("prompt,prompt"), "two columns are named 'prompt', expected one");
  EXPECT_EQ(refused("prompt,"), "column 2 has no name");
  EXPECT_NE(refused("prompt,context"), "taken");
  EXPECT_EQ(refused("id,text"),
            "the columns are id, text, expected 'context' and 'question', or 'prompt', among them");
}

TEST(Table, RowsAreLines) {
  const Result<Table> table =
      Table::open("id,context,question,answers,choices,max_tokens,temperature,source", ',');
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(*table->line("7,C,Q,yes|Yes,yes|no,5,0.5,web"),
            nlohmann::json::parse(R"({"id": "7", "context": "C", "question": "Q",
                "answers": ["yes", "Yes"], "choices": ["yes", "no"], "max_tokens": 5,
                "temperature": 0.5, "metadata": {"source": "web"}})"));
  EXPECT_EQ(*table->line(",,Q,,,,,"), nlohmann::json::parse(R"({"context": "", "question": "Q"})"));
  EXPECT_EQ(table->line("7,C").error().message,
            "the row has 2 cells, expected 8 as in the first row");
  EXPECT_EQ(table->line(",,Q,,,many,,").error().message,
            "column 'max_tokens' is 'many', expected a value");
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
                          "line 3: the row has 2 cells, expected 4 as in the first row"});
  EXPECT_TRUE(out.str().starts_with("{\"id\":\"a\",\"text\":")) << out.str();
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

}  // namespace
}  // namespace pando::testing
