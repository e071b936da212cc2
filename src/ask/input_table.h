// Rows of a CSV or TSV file as lines of a batch.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "pando/batch.h"

namespace pando::ask {

// Says whether a table may have the column for what is asked: a prompt or its parts, or a text.
bool is_asking_column(std::string_view name);

// The cells of one row, by RFC 4180 with any separator: a cell in quotes may hold separators, ends
// of lines, and doubled quotes. Other quotes or carriage returns, and zero bytes: kInvalidArgument.
Result<std::vector<std::string>> split_row(std::string_view row, char separator);

// Says whether a quoted cell goes on behind what was read of a row: quotes count where split_row
// takes them, at the beginning of a cell and, doubled, inside one.
class OpenQuote {
 public:
  explicit OpenQuote(char separator) : separator_(separator) {}
  void read(std::string_view text) {
    for (const char c : text) {
      const bool is_quote = c == '"';
      if (open_) {
        open_ = !is_quote;
        closed_ = is_quote;
      } else {
        open_ = is_quote && (at_start_ || closed_);
        closed_ = false;
      }
      at_start_ = !open_ && c == separator_;
    }
  }
  bool is_open() const { return open_; }

 private:
  char separator_;
  bool open_ = false, closed_ = false, at_start_ = true;
};

// A cell as it is written: in quotes where it holds what would end it.
std::string written_cell(std::string_view text, char separator);

// The columns of a table, named by its first row. These are fields of a line: id, context,
// question, prompt, instruction, template; answer; answers, choices and stop, as a list in JSON or
// as texts separated by |; the options of a line, such as max_tokens, as JSON. All others are
// passed through as metadata. An empty cell says nothing, except in context, question and prompt.
// For texts to embed, the fields are id, text and instruction.
class InputTable {
 public:
  // Errors: kInvalidArgument for names that are missing, empty or there twice, and for a task whose
  // lines no row can hold.
  // `renamed`: names of fields, and of the columns that they are in.
  static Result<InputTable> open(std::string_view first_row, char separator,
                                 BatchTask task = BatchTask::kAnswer,
                                 const std::map<std::string, std::string>& renamed = {});

  // Columns that are taken as options of each row, and those that come back as metadata.
  std::vector<std::string> options() const;
  std::vector<std::string> others() const;
  // Returns each of these that looks like a field, and the field: "Answers" and "answers".
  std::vector<std::pair<std::string, std::string>> near_names() const;

  // The row as a line. kInvalidArgument: another number of cells, a value that is not JSON, a list
  // in another notation.
  Result<Json> line(std::string_view row) const;

 private:
  Status rename(const std::map<std::string, std::string>& renamed);
  Status check_names() const;
  bool has(std::string_view name) const;

  char separator_ = ',';
  BatchTask task_ = BatchTask::kAnswer;
  std::vector<std::string> names_;
};

}  // namespace pando::ask
