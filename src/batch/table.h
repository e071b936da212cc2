// Rows of a CSV or TSV file as lines of a batch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pando/batch.h"

namespace pando {

// The cells of one row, by RFC 4180 with any separator: a cell in quotes may hold separators, ends
// of lines, and quotes, doubled. kInvalidArgument for quotes elsewhere.
Result<std::vector<std::string>> split_row(std::string_view row, char separator);

// The columns of a table, named by its first row. These are fields of a line: id, context,
// question, prompt, instruction, template; answer, or answers, choices and stop with | between
// them; the options of a line, such as max_tokens, as JSON. All others are passed through as
// metadata. An empty cell says nothing, except in context, question and prompt. Of texts to embed
// the fields are id, text and instruction.
class Table {
 public:
  // Errors: kInvalidArgument for names that are missing, empty or there twice, and for a task whose
  // lines no row can hold.
  static Result<Table> open(std::string_view first_row, char separator,
                            BatchTask task = BatchTask::kAnswer);

  // The line that a row is. kInvalidArgument: another number of cells, a value that is not JSON.
  Result<nlohmann::json> line(std::string_view row) const;

 private:
  Status check_names() const;
  bool has(std::string_view name) const;

  char separator_ = ',';
  BatchTask task_ = BatchTask::kAnswer;
  std::vector<std::string> names_;
};

}  // namespace pando
