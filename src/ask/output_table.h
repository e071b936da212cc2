// Answers as rows of CSV or TSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "pando/batch.h"

namespace pando::ask {

// The columns follow from the options and the input, so that a run that is resumed has the same:
// the fields that every answer has, one for each property of the run's schema, those that the
// options ask for, the input's own columns, and
// `more`, an object of whatever else an answer has. Of a ranking each document is a row, of a line
// that is scored each continuation. Cells are texts as they are and all else as JSON.
class OutputTable {
 public:
  explicit OutputTable(const BatchOptions& options);

  // Says whether questions of the input have choices of their own; before any row.
  void take_choices(const BatchOptions& options, bool has_choices) {
    columns_ = all_columns(options, has_choices);
  }
  // Columns of the input that come back with each answer, instead of `metadata`; before any row.
  void take_input_columns(const std::vector<std::string>& names);

  std::string header() const;
  // The rows of an answer.
  std::string rows(const Json& answer) const;
  // The objects of rows, which may have the header before them: a field for each cell that is not
  // empty, as text, and those of `more`.
  Result<std::vector<Json>> objects(std::string_view rows) const;

 private:
  std::string row(Json object) const;

  std::vector<std::string> all_columns(const BatchOptions& options, bool has_choices) const;
  static std::vector<std::string> columns_of(const BatchOptions& options, bool has_choices);

  void add_properties(Json& object) const;

  char separator_;
  // The schema has these properties, each with its column.
  std::vector<std::pair<std::string, std::string>> properties_;
  std::vector<std::string> columns_;
  std::vector<std::string> input_columns_;
};

}  // namespace pando::ask
