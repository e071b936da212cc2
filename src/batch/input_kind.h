// An input that is of another kind than it is read as, told by its first bytes or lines: better one
// message about all of it than one for each line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "pando/batch.h"

namespace pando {

// "a gzip file (hint: ...)" for the first line of a file that is packed, of binary data, or in
// UTF-16; empty for any other.
std::string_view packed_kind(std::string_view first_line);

// A line that the task takes.
const char* example_line(BatchTask task);

// Whether an object of JSON may be all of the line.
bool may_be_object(std::string_view line);

constexpr size_t kFirstLines = 8;  // that tell

// What the first lines [kFirstLines, or all of fewer] are, where none of them may be an object:
// "binary data, not text", "a CSV table: its first line is '...'", or of two lines and more
// "text: its first line is '...'". Empty: nothing is told by them.
std::string other_kind(std::span<const std::string_view> first_lines, BatchTask task);

// What an input is that should be a table, by its first line that is not blank: "JSON: its first
// line is '...'". Empty: it may be a table.
std::string kind_of_no_table(std::string_view first_line);

}  // namespace pando
