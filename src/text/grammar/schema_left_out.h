// Finds properties, items and alternatives of a schema that no value fits, so that every text
// leaves them out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/schema_cases.h"

namespace pando::grammar {

// A property of an object, or an item of an array.
struct ValuePlace {
  Parts schemas;                        // that apply together there
  std::optional<std::string> property;  // its name; nothing for an item
  bool is_needed = false;               // no object or array is valid without it
  bool is_name_allowed = true;          // by "propertyNames"
};

// A warning about properties, items and alternatives of "anyOf" and "oneOf" that no text of the
// schema has, with the places that contradict each other. Empty if there are none, or if the steps
// of the document are used up. A schema that is false, or excludes everything by "not", is intended
// and causes no warning. `places`: all places of the schema; more than kMostValuePlaces are not
// searched. `lists`: each has schemas that apply together; their alternatives are searched.
// `has_no_text`: as in conflict_of.
std::string left_out_warning(const std::vector<ValuePlace>& places, const std::vector<Parts>& lists,
                             SchemaCases* cases, SchemaDocument* document,
                             const std::function<bool(const Parts&)>& has_no_text);

}  // namespace pando::grammar
