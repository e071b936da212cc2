// Tables of results: printed for people, written as CSV for programs.
#pragma once

#include <string>
#include <vector>

namespace pando::bench {

struct Table {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // [rows][columns]
  std::vector<std::string> notes;              // lines below the table: what can be compared and
                                               // what cannot

  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
};

// A number with three significant digits; "x" for one that is not finite, which was not measured.
std::string number(double value);

std::string to_markdown(const Table& table);
// Columns that have a name again are numbered: "times", "times (2)".
std::string to_csv(const Table& table);

}  // namespace pando::bench
