// Rows of a CSV or TSV file as lines of a batch.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "pando/result.h"

namespace pando {

// The cells of one row, by RFC 4180 with any separator: a cell in quotes may hold separators, ends
// of lines, and quotes, doubled. kInvalidArgument for quotes elsewhere.
Result<std::vector<std::string>> split_row(std::string_view row, char separator);

// The columns of a table, named by its first row. These are fields of a line: id, context,
// question, prompt, instruction, template; answer, or answers, choices and stop with | between
// them; the options of a line, such as max_tokens, as JSON. All others are passed through as
// metadata. An empty cell says nothing, except in context, question and prompt.
class Table {
 public:
  // Errors: kInvalidArgument for names that are missing, empty or there twice.
  static Result<Table> open(std::string_view first_row, char separator);

  // The line that a row is. kInvalidArgument: another number of cells, a value that is not JSON.
  Result<nlohmann::json> line(std::string_view row) const;

 private:
  char separator_ = ',';
  std::vector<std::string> names_;
};

}  // namespace pando
