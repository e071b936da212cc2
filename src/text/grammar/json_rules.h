// Rules for the values of JSON that no schema narrows.
#pragma once

#include <string>

#include "text/grammar/builder.h"
#include "text/grammar/schema_document.h"

namespace pando::grammar {

// A string with its quotes, any escapes of JSON included; made once.
Builder::Rule string_rule(Builder* builder);
// Adds any value, with separators as Builder::separator writes them; all in one rule but strings
// and numbers.
void add_any_value(Builder* builder, Builder::Rule rule);
void add_any_object(Builder* builder, Builder::State from, Builder::State to, Builder::Rule value);

// A value as JSON without white space. A number is written without exponent, 1.0 as 1.
std::string compact_text(const Json& value);

}  // namespace pando::grammar
