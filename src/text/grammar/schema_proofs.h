// Proofs about schemas and values, made before anything is compiled.
#pragma once

#include "text/grammar/schema_facts.h"

namespace pando::grammar {

// True if it is proved that no value is valid under all parts of a case.
bool is_surely_empty(const Parts& parts, SchemaCases* cases, SchemaDocument* document, int depth);
// True if bounds leave no number. Makes no automata.
bool bounds_contradict(const SchemaFacts& facts);
// True if the value is valid under all of `schemas`.
bool is_valid(const Json& value, const Parts& schemas, SchemaCases* cases,
              SchemaDocument* document);
// Does the same for the facts of a case; "enum" and "const" are not looked at.
bool meets(const Json& value, const SchemaFacts& facts, SchemaCases* cases,
           SchemaDocument* document);

}  // namespace pando::grammar
