// Guesses what was meant by an object that is given as a JSON Schema.
#pragma once

#include <string>
#include <string_view>

#include "text/grammar/schema_document.h"

namespace pando::grammar {

// Path of the schema in an object of another form: "json_schema.schema" in the response_format of
// OpenAI. Empty: the object is a schema itself.
std::string place_of_schema(Node object);

// A warning about a schema that is true, has a name that is nearly a keyword, has a part with names
// of fields outside of "properties", or has no keyword that constrains the answer. Empty for any
// other text. Compares only the first 64 names that are no keywords.
std::string schema_warning(std::string_view text);
std::string schema_warning(const JsonValue& schema);

}  // namespace pando::grammar
