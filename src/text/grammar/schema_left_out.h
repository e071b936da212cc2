// Properties and items of a schema that no value fits, and that texts of it go without.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "text/grammar/schema_cases.h"

namespace pando::grammar {

// Where a property of an object or an item of an array stands.
struct ValuePlace {
  Parts schemas;                        // they hold together there
  std::optional<std::string> property;  // its name; nothing: an item
  bool is_needed = false;               // no object or array is valid without it
  bool is_name_allowed = true;          // by "propertyNames"
};

// A warning about properties and items that are in the schema but in no text of it, with the places
// that contradict each other. Empty: there are none, or the steps of the document are used up.
// Where a schema is false, or excludes everything by "not", that is meant. `places`: all that the
// schema has; more than kMostValuePlaces are not looked at. `has_no_text`: as of conflict_of.
std::string left_out_warning(const std::vector<ValuePlace>& places, SchemaCases* cases,
                             SchemaDocument* document,
                             const std::function<bool(const Parts&)>& has_no_text);

}  // namespace pando::grammar
