// An input that is of another kind than it is read as, told by its first bytes or lines: better one
// message about all of it than one for each line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "pando/batch.h"

namespace pando {

struct InputKind {
  std::string what;       // "a gzip file"
  std::string hint = {};  // "pipe it through gunzip -c"; empty: none

  // "a gzip file, expected JSON lines (hint: pipe it through gunzip -c)"
  std::string expecting(std::string_view expected) const;
};

// For the first line of a file that is packed, of binary data, or in UTF-16; nothing for any other.
std::optional<InputKind> packed_kind(std::string_view first_line);

// A line that the task takes.
const char* example_line(BatchTask task);

// Says whether an object of JSON may be all of the line.
bool may_be_object(std::string_view line);

constexpr size_t kFirstLines = 8;  // that tell

// Says what the first lines [kFirstLines, or all of fewer] are, where none of them may be an
// object: "binary data, not text", "a CSV table: its first line is '...'", or of two lines and more
// "text: its first line is '...'". Nothing where they do not tell.
std::optional<InputKind> other_kind(std::span<const std::string_view> first_lines, BatchTask task);

// Says what an input is that should be a table, by its first line that is not blank: "JSON: its
// first line is '...'". Nothing where it may be a table.
std::optional<InputKind> kind_of_no_table(std::string_view first_line);

}  // namespace pando
