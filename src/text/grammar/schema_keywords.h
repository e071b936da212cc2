// The keywords of JSON Schema, of all drafts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace pando::grammar {

using Json = nlohmann::ordered_json;

bool is_keyword(std::string_view name);
// " (hint: 'NAME'?)" with the nearest keyword, or nothing.
std::string keyword_hint(std::string_view name);

// A constraint that is not supported.
bool is_refused(std::string_view keyword);
// Its value is a schema or a list of schemas.
bool holds_schemas(std::string_view keyword);
// Its value is an object of schemas.
bool holds_named_schemas(std::string_view keyword);

bool is_schema(const Json& value);  // true, false or an object
// Expected value of a keyword, for messages; empty if the value is right.
std::string_view expected_of(std::string_view keyword, const Json& value);

bool has_keyword(const Json& schema);  // it is an object with a keyword
// Path of the schema that an object of another form holds, "json_schema.schema". Empty if the value
// is a schema itself.
std::string place_of_schema(const Json& value);

}  // namespace pando::grammar
