// Why no text fits a schema, for its message.
#pragma once

#include <functional>
#include <string>

#include "text/grammar/schema_cases.h"

namespace pando::grammar {

// For schemas that apply together and that no text fits: the places in the document that contradict
// each other, as in "'#/properties/a/minimum' is 5, but '#/properties/a/maximum' is 3". Empty if
// they are not known. `has_no_text`: whether no text fits schemas that apply together at some
// place.
std::string conflict_of(const Parts& schemas, SchemaCases* cases, SchemaDocument* document,
                        const std::function<bool(const Parts&)>& has_no_text);

}  // namespace pando::grammar
