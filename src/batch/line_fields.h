// Fields of lines that were written, found by names and paths.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "pando/batch.h"

namespace pando {

// The value of a field of `line`, or else of its metadata; null where there is none. A path steps
// into objects by names and into lists by indices from 0; a text of JSON, as in the cell of a
// table, is stepped into too.
Json field_of(const Json& line, std::string_view path);

// A text as it is, another value as JSON.
std::string written_text(const Json& value);

// A list of texts, one text, or a cell with one of them; nothing for null and for a cell that is
// empty. kInvalidArgument for an object, and for a list of other values.
Result<std::optional<std::vector<std::string>>> texts_of(const Json& value, InputFormat format);

}  // namespace pando
