// Finds keywords that the values of "enum" and "const" do not meet.
#pragma once

#include "text/grammar/schema_places.h"

namespace pando::grammar {

// For a case with listed values none of which meets its other keywords: each value, with the first
// keyword that it does not meet. For many values only that none meets them.
Told unmet_of(const SchemaFacts& facts, SchemaCases* cases, SchemaDocument* document);

}  // namespace pando::grammar
