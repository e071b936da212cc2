// What can be shown of schemas and values before anything is compiled.
#pragma once

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

// Whether no value is valid under all parts of a case, as far as it can be shown.
bool is_surely_empty(const Parts& parts, SchemaCases* cases, SchemaDocument* document, int depth);
// Whether bounds leave no number, without making automata of them.
bool bounds_contradict(const SchemaFacts& facts);
// Whether a value is valid under all of `schemas`.
bool is_valid(const Json& value, const Parts& schemas, SchemaCases* cases,
              SchemaDocument* document);
// The same for the facts of a case; "enum" and "const" are not looked at.
bool meets(const Json& value, const SchemaFacts& facts, SchemaCases* cases,
           SchemaDocument* document);

}  // namespace pando::grammar
