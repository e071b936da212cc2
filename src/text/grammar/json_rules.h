// Rules for the values of JSON that no schema narrows.
#pragma once

#include <string>

#include "text/grammar/builder.h"
#include "text/grammar/schema_document.h"

namespace pando::grammar {

// A string with its quotes, any escapes of JSON included; made once.
Builder::Rule string_rule(Builder* builder);
// The state behind a colon or comma, or behind one space after it. Models often write that space; a
// model that may not write it chooses other values.
Builder::State behind_separator(Builder* builder, Builder::State from, char separator);
// Adds any value, with those spaces alone; all in one rule but strings and numbers.
void add_any_value(Builder* builder, Builder::Rule rule);
void add_any_object(Builder* builder, Builder::State from, Builder::State to, Builder::Rule value);

// A value as JSON without white space. A number is written without exponent, 1.0 as 1.
std::string compact_text(const Json& value);

}  // namespace pando::grammar
