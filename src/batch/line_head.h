// What lines of every native form begin with.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/fields.h"
#include "batch/input_line.h"

namespace pando {

// The field 'id', which is there, of a `what`.
Result<std::string> read_id(const nlohmann::json& object, const char* what);

// Its value, from BatchLine::id_json or BatchQuestion::id_json; written by json_text().
nlohmann::ordered_json id_value(const std::string& id_json);

// 'metadata', over what is in `out` already.
void read_metadata(Fields& fields, nlohmann::ordered_json& out);

// An empty line with its id, or its number where it has none.
Result<BatchLine> begin_line(const nlohmann::json& object, uint64_t line_number,
                             const AnswerOptions& defaults);

}  // namespace pando
